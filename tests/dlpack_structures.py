"""DLPack's structures in C, through ctypes; for tests that say or read what no library does."""

import ctypes


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Unversioned(ctypes.Structure):
    """DLManagedTensor; the deleter as a bare pointer, so that it may be null."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""


Managed._fields_ = [
    ("version", ctypes.c_uint32 * 2),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]

PointerToManaged = ctypes.POINTER(Managed)
SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Api(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("previous", ctypes.c_void_p),
        (
            "allocate",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(PointerToManaged), ctypes.c_void_p, SetError
            ),
        ),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(PointerToManaged))),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, PointerToManaged, ctypes.POINTER(ctypes.c_void_p))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
        ("stream", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))),
    )


def pointer_in(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def tensor_in(capsule: object) -> Managed:
    return Managed.from_address(pointer_in(capsule, b"dltensor_versioned"))


def steal(address: int) -> object:
    """The object of a pointer whose reference is ours."""
    thing = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))
    return thing


class OnlyDlpack:
    """An array that nothing else than DLPack can read."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
