"""Reads what callgrind wrote."""

import collections


class Profile:
    """own[f]: instructions of a function; calls[caller][callee]: of its calls, with what is below."""

    def __init__(self):
        self.own = collections.Counter()
        self.calls = collections.defaultdict(collections.Counter)
        self.times = collections.defaultdict(collections.Counter)

    def callees(self, caller):
        return self.calls.get(caller, {})

    def below(self, function):
        """Instructions of all calls of a function that another one makes."""
        return sum(callees[function] for caller, callees in self.calls.items() if caller != function)

    def called_from_outside(self, group):
        """Instructions of calls of a group of functions that functions outside of it make."""
        return sum(cost for caller, callees in self.calls.items() if caller not in group
                   for callee, cost in callees.items() if callee in group)


class Names:
    """A name is told once, as "(12) name", and as "(12)" from then on."""

    def __init__(self):
        self.known = {}

    def read(self, text):
        number, _, name = text.partition(" ")
        if name:
            # a function that calls itself has names like f'2
            self.known[number] = name.split("'")[0]
        return self.known[number]


def read(path):
    profile = Profile()
    functions = Names()
    function = callee = None
    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("fn="):
                function = functions.read(line[3:])
            elif line.startswith("cfn="):
                callee = functions.read(line[4:])
            elif line.startswith("calls="):
                cost = int(next(lines).split()[1])
                profile.calls[function][callee] += cost
                profile.times[function][callee] += int(line[6:].split()[0])
            elif line[:1] in "0123456789+-*" and function and line:
                profile.own[function] += int(line.split()[1])
    return profile
