"""Writes the docstrings of one text in src/dnnmove/_reference as a C++ header, for the bindings.

    python scripts/make_reference.py TEXT HEADER

A text is comments (`# ...`) and then sections, each below its heading:

    === shuffle             the docstring of a Python name: the constant kShuffle
    === {{axis_error}}      a passage, which stands wherever {{axis_error}} does; those of passages.txt, in all texts
    === step flip           an entry, a docstring of which forms make several
    === Chain.<step>        a form, filled in once for each entry `step NAME`: the constant kChainFlip

In a form, {{name}} is the entry's name, {{Summary}} what it says above its first title, {{summary}} that as a sentence
goes on, and any title of the entry, such as {{Raises}}, what stands below it. A line vanishes where the entry has no
such title. What is wrong with a text is one line: where, and what.
"""

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

PASSAGES = "passages.txt"
INCLUDE = re.compile(r"\{\{(.*?)\}\}")
TITLE = re.compile(r"^(\S.*)\n-+\n", re.MULTILINE)
DELIMITER = "doc"


class TextError(Exception):
    """What is wrong with a text, and where."""


@dataclass
class Section:
    """What stands below a heading."""

    path: Path
    heading: int  # its line
    first: int = 0  # the line that the text begins in
    text: str = ""

    def error(self, message: str, at: int | None = None) -> TextError:
        """What is wrong with the section, or at a place in its text."""
        line = self.heading if at is None else self.first + self.text[:at].count("\n")
        return TextError(f"{self.path}:{line}: {message}")


def read_sections(path: Path) -> dict[str, Section]:
    """The sections of a text by their headings."""
    sections: dict[str, Section] = {}
    section = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("=== "):
            heading = line.removeprefix("=== ")
            section = Section(path, number)
            if heading in sections:
                raise section.error(f"'{heading}' is a section already, in line {sections[heading].heading}")
            sections[heading] = section
        elif section is not None:
            if line and not section.text:
                section.first = number
            section.text += line + "\n" if section.text or line else ""
        elif line and not line.startswith("#"):
            raise TextError(f"{path}:{number}: text above the first heading (=== NAME) begins with #")
    for section in sections.values():
        section.text = section.text.rstrip("\n") + "\n"
        if section.text == "\n":
            raise section.error("nothing stands below this heading")
    return sections


class Text:
    """A text, whose docstrings are its sections with the passages in their places."""

    def __init__(self, path: Path) -> None:
        self.passages: dict[str, Section] = {}
        self.entries: dict[str, dict[str, Section]] = {}  # by kind, then by name
        self.forms: dict[str, Section] = {}
        self.plain: dict[str, Section] = {}
        for source in (path.with_name(PASSAGES), path):
            for heading, section in read_sections(source).items():
                self.enter(heading, section)

    def enter(self, heading: str, section: Section) -> None:
        if found := re.fullmatch(r"\{\{(\w+)\}\}", heading):
            if found[1] in self.passages:
                raise section.error(f"'{heading}' is a passage of {PASSAGES} already")
            self.passages[found[1]] = section
        elif section.path.name == PASSAGES:
            raise section.error(f"'{heading}' is no passage: {{{{NAME}}}}")
        elif found := re.fullmatch(r"(\w+) (\w+)", heading):
            self.entries.setdefault(found[1], {})[found[2]] = section
        elif re.fullmatch(r"[\w.]*<\w+>", heading):
            self.forms[heading] = section
        elif re.fullmatch(r"[\w.]+", heading):
            self.plain[heading] = section
        else:
            raise section.error(f"'{heading}' is no heading: NAME, {{{{PASSAGE}}}}, KIND NAME or Chain.<KIND>")

    def expanded(self, section: Section, around: tuple[str, ...] = ()) -> str:
        """A section's text with the passages in their places; `around` are those that it stands in."""

        def passage(found: re.Match[str]) -> str:
            name = found[1]
            if name not in self.passages:
                raise section.error(f"no passage is called '{name}'", found.start())
            if name in around:
                raise section.error(f"the passage '{name}' stands in itself", found.start())
            return self.expanded(self.passages[name], (*around, name)).removesuffix("\n")

        return INCLUDE.sub(passage, section.text)

    def filled(self, form: Section, kind: str) -> dict[str, str]:
        """What a form gives for each entry of its kind, by the entry's name."""
        entries = {name: parts_of(name, self.expanded(entry)) for name, entry in self.entries.get(kind, {}).items()}
        if not entries:
            raise form.error(f"no entry is called '{kind} NAME'")
        titles = {title for parts in entries.values() for title in parts}
        for found in INCLUDE.finditer(form.text):
            if found[1] not in titles | self.passages.keys():
                raise form.error(f"no entry has '{found[1]}', and no passage is called so", found.start())

        def fill(parts: dict[str, str]) -> str:
            absent = titles - parts.keys()
            lines = [line for line in form.text.splitlines(keepends=True) if absent.isdisjoint(INCLUDE.findall(line))]
            text = INCLUDE.sub(lambda found: parts.get(found[1], found[0]), "".join(lines))
            return self.expanded(replace(form, text=text))

        return {name: fill(parts) for name, parts in entries.items()}

    def docstrings(self) -> dict[str, str]:
        """All docstrings by their Python names."""
        found = {name: self.expanded(section) for name, section in self.plain.items()}
        included: dict[str, set[str]] = {}  # by the forms of a kind
        for heading, form in self.forms.items():
            before, _, kind = heading.removesuffix(">").partition("<")
            included.setdefault(kind, set()).update(INCLUDE.findall(form.text))
            found |= {before + name: text for name, text in self.filled(form, kind).items()}
        for kind, entries in self.entries.items():
            for entry in entries.values():
                for title in TITLE.finditer(entry.text):
                    if title[1] not in included.get(kind, ()):
                        raise entry.error(f"no form with <{kind}> has {{{{{title[1]}}}}}", title.start())
        return found


def parts_of(name: str, text: str) -> dict[str, str]:
    """What an entry says below each of its titles, and what forms may say of it besides."""
    summary, *titled = (part.strip("\n") for part in TITLE.split(text))
    others = dict(zip(titled[::2], titled[1::2], strict=True))
    return {"name": name, "Summary": summary, "summary": summary[0].lower() + summary[1:], **others}


def constant(name: str) -> str:
    """Chain.space_to_depth: kChainSpaceToDepth."""
    return "k" + "".join(word[0].upper() + word[1:] for word in re.split(r"[._]+", name) if word)


def header(path: Path) -> str:
    """The header that a text makes."""
    docstrings = Text(path).docstrings()
    lines = [f"// The docstrings of {path.name}, written by {Path(__file__).name}.", "#pragma once", ""]
    lines += [f"namespace dnnmove::reference::{path.stem} {{", ""]
    names: dict[str, str] = {}
    for name, text in docstrings.items():
        if "{{" in text or f'){DELIMITER}"' in text:
            raise TextError(f"{path}: '{name}' holds {{{{ without }}}}, or what ends a string of C++: ){DELIMITER}\"")
        other = names.setdefault(constant(name), name)
        if other != name:
            raise TextError(f"{path}: '{other}' and '{name}' are one constant, {constant(name)}")
        lines += [f'inline constexpr const char* {constant(name)} = R"{DELIMITER}({text}){DELIMITER}";', ""]
    return "\n".join([*lines, f"}}  // namespace dnnmove::reference::{path.stem}", ""])


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = map(Path, sys.argv[1:])
    try:
        text = header(source)
    except TextError as error:
        print(error, file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
