"""The cache's packs: how much they keep, and that nothing damaged or misplaced is believed."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from trainc.batch import cache


def test_a_pack_keeps_spare_records_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_SPARE_BYTES", 25)
    name = b"c" * 32
    for number in range(6):
        cache.Pack(str(tmp_path), name).save([(bytes([number]) * 32, b"0123456789")])
    with closing(cache.Pack(str(tmp_path), name)) as pack:
        found = [pack.find(bytes([number]) * 32) for number in range(6)]
    assert found == [None, None, None, *[b"0123456789"] * 3]


def test_only_the_packs_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_PACKS", 2)
    (tmp_path / "notes.txt").write_text("mine")
    names = [bytes([number]) * 32 for number in range(4)]
    for when, name in enumerate(names):
        cache.Pack(str(tmp_path), name).save([(name, b"x")])
        os.utime(tmp_path / f"{name.hex()}.pack", (when, when))
    assert {path.name for path in tmp_path.glob("*")} > {"notes.txt", "CACHEDIR.TAG"}
    assert {path.stem for path in tmp_path.glob("*.pack")} == {name.hex() for name in names[2:]}


def test_whatever_byte_is_damaged_a_record_is_what_it_was_or_not_there(tmp_path: Path) -> None:
    records = {b"a" * 32: b"first", b"b" * 32: b"second"}
    with closing(cache.Pack(str(tmp_path), b"c" * 32)) as pack:
        pack.save(records.items())
    (path,) = tmp_path.glob("*.pack")
    whole = path.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :] for at in range(len(whole))]
    short = [whole[:at] for at in range(len(whole))]
    for data in (*damaged, *short, whole + whole, b""):
        path.write_bytes(data)
        with closing(cache.Pack(str(tmp_path), b"c" * 32)) as pack:
            found = {address: pack.find(address) for address in records}
        assert all(found[address] in (None, records[address]) for address in records)
        assert found != records or data.startswith(whole)


def test_a_record_of_another_pack_is_not_believed(tmp_path: Path) -> None:
    one, other = b"1" * 32, b"2" * 32
    cache.Pack(str(tmp_path), one).save([(b"f" * 32, b"content")])
    (tmp_path / f"{one.hex()}.pack").rename(tmp_path / f"{other.hex()}.pack")
    with closing(cache.Pack(str(tmp_path), other)) as pack:
        assert pack.find(b"f" * 32) is None
