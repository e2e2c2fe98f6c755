"""Reads XML that nobody vouches for: defusedxml parses it, within bounds of size, depth and number of elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Element", "IRError", "parse", "shown"]

MOST_BYTES = 32 << 20
MOST_ELEMENTS = 500_000
MOST_DEPTH = 64
MOST_TEXT = 4096  # characters that are kept of one element: a dimension needs twenty


class IRError(ValueError):
    """An IR file or a layer that cannot be read: malformed, inconsistent or of an operation that moves no data."""


@dataclass(slots=True)
class Element:
    """An element of an XML document; of its text only the beginning is kept."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """The children of this name."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The child of this name, if there is one."""
        found = self.all(tag)
        if len(found) > 1:
            raise IRError(f"<{shown(self.tag)}> holds {len(found)} <{tag}> elements, expected at most one")
        return found[0] if found else None


def shown(text: str, most: int = 60) -> str:
    """A text of a file for a message: printable, on one line and short."""
    cut = text if len(text) <= most else f"{text[:most]}..."
    return "".join(c if c.isprintable() else "?" for c in cut)


class _Target:
    """Builds elements as expat finds them, and stops where there are too many."""

    def __init__(self) -> None:
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS:
            raise IRError(f"the XML has more than {MOST_ELEMENTS} elements")
        if len(self.open) >= MOST_DEPTH:
            raise IRError(f"the XML nests elements more than {MOST_DEPTH} deep")
        element = Element(tag, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        element = self.open[-1]
        room = MOST_TEXT - len(element.text)
        if room > 0 and not (text.isspace() and not element.text):
            element.text += text[:room]

    def close(self) -> Element | None:
        return self.root


def _parser(target: _Target) -> Any:
    try:
        from defusedxml.ElementTree import DefusedXMLParser
    except ImportError as error:
        raise ImportError("dnnmove.ir reads XML with defusedxml: pip install dnnmove[ir]") from error
    return DefusedXMLParser(target=target, forbid_dtd=True, forbid_entities=True, forbid_external=True)


def parse(document: bytes | str, what: str) -> Element:
    """The root element of a document; `what` names it in errors."""
    if len(document) > MOST_BYTES:
        raise IRError(f"{what} has more than {MOST_BYTES >> 20} MiB")
    parser = _parser(_Target())
    try:
        parser.feed(document)
        root = parser.close()
    except IRError as error:
        raise IRError(f"{what}: {error}") from None
    except (SyntaxError, ValueError, LookupError) as error:  # expat's, defusedxml's, and of unknown encodings
        if type(error).__module__.startswith("defusedxml"):
            raise IRError(f"{what} has a document type or entities, which no IR has and which are not read") from None
        raise IRError(f"{what} is not well-formed XML: {shown(str(error), 200)}") from None
    if not isinstance(root, Element):
        raise IRError(f"{what} is empty")
    return root
