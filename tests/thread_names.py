"""Text for programs of their own: the names of the threads of a process."""

# A thread may end between the listing and the look at it.
THREAD_NAMES = """
import os

def thread_names():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return names
"""
