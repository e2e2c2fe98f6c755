"""Text for programs of their own: the names of the threads of a process."""

# A thread may end between the listing and the look at it.
THREAD_NAMES = """
import os

def name_of(task):
    try:
        with open(f"/proc/self/task/{task}/comm") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""

def thread_names():
    return [name for name in map(name_of, os.listdir("/proc/self/task")) if name]
"""
