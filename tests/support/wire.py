# SPDX-License-Identifier: MIT
"""Protobuf's wire format, read without any generated code: a message's fields by their numbers."""

import struct


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift >= 70:
            raise ValueError(f"a number of more than ten bytes at {at}")


def fields(data):
    """(number, value) of each field: an int of a number, bytes of a text or a message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise ValueError(f"a field of {size} bytes at {at} of {len(data)}")
            value, at = data[at : at + size], at + size
        elif kind == 5:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        else:
            raise ValueError(f"wire type {kind} at {at}")
        yield tag >> 3, value


def message(data, known):
    """{name: [values]} of the fields, of which `known` has {number: name}; a field that it lacks is an error."""
    found = {}
    for number, value in fields(data):
        found.setdefault(known[number], []).append(value)
    return found
