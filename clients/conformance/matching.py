"""Compares an answer with a case's expectation: an object may have further fields, a list no further entries."""

import re


class Mismatch(Exception):
    pass


def at(value, path):
    """The value at a path such as `events.0.data.n`."""
    for name in path.split("."):
        try:
            value = value[int(name)] if isinstance(value, list) else value.get(name)
        except (IndexError, AttributeError, ValueError):
            return None
    return value


def match(expected, actual, path="value"):
    if isinstance(expected, dict) and any(name.startswith("$") for name in expected):
        for name, wanted in expected.items():
            special(name, wanted, actual, path)
    elif isinstance(expected, dict):
        if not isinstance(actual, dict):
            raise Mismatch(f"{path} is {actual!r} instead of an object")
        for name, wanted in expected.items():
            match(wanted, actual.get(name), f"{path}.{name}")
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            raise Mismatch(f"{path} is {actual!r} instead of {len(expected)} entries like {expected!r}")
        for index, wanted in enumerate(expected):
            match(wanted, actual[index], f"{path}.{index}")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        raise Mismatch(f"{path} is {actual!r} instead of {expected!r}")


def matches(expected, actual):
    try:
        match(expected, actual)
    except Mismatch:
        return False
    return True


def special(name, wanted, actual, path):
    def demand(holds):
        if not holds:
            raise Mismatch(f"{path} is {actual!r}, which is not {name} {wanted!r}")

    match name:
        case "$any":
            demand(actual is not None)
        case "$absent":
            demand(actual is None)
        case "$length":
            demand(isinstance(actual, list) and len(actual) == wanted)
        case "$match":
            demand(isinstance(actual, str) and re.search(wanted, actual))
        case "$min" | "$max":
            demand(isinstance(actual, str if isinstance(wanted, str) else (int, float)))
            demand(actual >= wanted if name == "$min" else actual <= wanted)
        case "$not":
            demand(actual != wanted)
        case "$contains":
            demand(isinstance(actual, list) and wanted in actual)
        case "$some":
            demand(isinstance(actual, list) and any(matches(wanted, entry) for entry in actual))
        case "$each":
            # The values at a path of each entry.
            for each, values in wanted.items():
                demand(isinstance(actual, list))
                match(values, [at(entry, each) for entry in actual], f"{path}[].{each}")
        case "$newest_first":
            demand([entry["id"] for entry in actual] == sorted((entry["id"] for entry in actual), reverse=True))
        case "$unique":
            demand(len({at(entry, wanted) for entry in actual}) == len(actual))
        case _:
            raise Mismatch(f"{name} is no matcher")
