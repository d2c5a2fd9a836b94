"""Look for a text in every process of this container until /tmp/spy-ends is there: its environment, command line, memory.

Prints a line when it begins, one when so many processes refused it as the second argument says, and what it saw as JSON at
its end. It runs as the workers' user; tests/compose/checks/password.py
starts it.
"""
import json
import os
import sys

END = "/tmp/spy-ends"
TEXT, REFUSED = sys.argv[1], int(sys.argv[2])


def memory_of(number):
    with open(f"/proc/{number}/maps") as maps, open(f"/proc/{number}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(word, 16) for word in span.split("-"))
            if "w" in rights and end - begin < 1 << 26:
                memory.seek(begin)
                try:
                    yield memory.read(end - begin)
                except OSError:
                    continue


def parts_of(number):
    for name in ("cmdline", "environ"):
        with open(f"/proc/{number}/{name}", "rb") as file:
            yield file.read()
    yield from memory_of(number)


def main():
    wanted = TEXT.encode()
    own = {str(os.getpid())}
    found, names, refused, processes, looks = set(), set(), set(), set(), 0
    print("looking", flush=True)
    ended = False
    while not ended:
        ended = os.path.exists(END)  # what is there then is looked at
        looks += 1
        for number in filter(str.isdigit, os.listdir("/proc")):
            if number in own:
                continue
            try:
                with open(f"/proc/{number}/comm") as file:
                    name = file.read().strip()
                processes.add(number)
                names.add(name)
                if any(wanted in part for part in parts_of(number)):
                    found.add(name)
            except PermissionError:
                if len(refused) < REFUSED and len(refused | {number}) == REFUSED:
                    print("refused", flush=True)
                refused.add(number)
            except OSError:
                pass  # it has ended
    os.unlink(END)
    print(json.dumps({"found": sorted(found), "names": sorted(names), "refused": len(refused), "processes": len(processes),
                      "looks": looks}))


if __name__ == "__main__":
    main()
