"""The texts of the pages and of the notices: every language says everything, and nothing that its readers would not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

import fairline
from fairline.domain.branding import LANGUAGES, TEXTS
from fairline.web.pages.languages import PARTS, PLURALS, catalogue

#: The plural categories of whole numbers by language, from Unicode's CLDR.
_ROMANCE = {"one", "many", "other"}
CATEGORIES = {
    "en": {"one", "other"},
    "de": {"one", "other"},
    "es": _ROMANCE,
    "fr": _ROMANCE,
    "pt": _ROMANCE,
    "ar": {"zero", "one", "two", "few", "many", "other"},
    "ja": {"other"},
    "ko": {"other"},
}
#: In these languages only whole millions are many, which lines of people alone reach.
MILLIONS = {"es", "fr", "pt"}
COUNTS_PEOPLE = {"ahead", "behind", "crowd", "board_waiting"}
#: These forms are for one number alone, and may say it in words.
ONE_NUMBER = {"zero", "one", "two"}
#: What was said in two ways, or as no native would say it.
NOT_SAID = {
    "en": ("goes on by itself", "hard to say", "signs that"),
    "de": ("von selbst", "Ihre Reihe"),
    "es": ("le llevará dentro",),
    "fr": ("d’elle-même", "C’est bientôt à vous"),
    "pt": ("ecrã", "equipa ", "ligação", "Código QR"),
    "ja": ("保たれて", "あなた"),
    "ko": ("회수되었습니다", "대기열에 서기"),
    "ar": ("الشباب", "الصف ", "تتحدّث"),
}


def _catalogues() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them: their folders, and their texts by language."""
    for english in sorted(Path(str(files(fairline))).rglob("catalogues/**/en.json")):
        folder = english.parent
        yield str(folder), {code: msgspec.json.decode((folder / f"{code}.json").read_bytes()) for code in LANGUAGES}


def test_every_language_has_the_same_texts_placeholders_and_plural_forms() -> None:
    for folder, words in _catalogues():
        for code in LANGUAGES:
            assert words[code].keys() == words["en"].keys(), (folder, code)
            for name, english in words["en"].items():
                where, text = (folder, code, name), words[code][name]
                assert isinstance(text, str) == isinstance(english, str), where
                if isinstance(english, str):
                    assert _placeholders(text) == _placeholders(english), where
                    assert bool(text) == bool(english), where
                    continue
                assert _needed(code, name) <= text.keys() <= CATEGORIES[code], where
                for form, said in text.items():
                    spare = {"{n}"} if form in ONE_NUMBER else set()
                    assert _placeholders(said) | spare == _placeholders(english["other"]) | spare, (where, form)


def _needed(code: str, name: str) -> set[str]:
    """The forms that a text needs: where there is nothing to count, another text says so."""
    rare = {"many"} if code in MILLIONS and name not in COUNTS_PEOPLE else set()
    return CATEGORIES[code] - {"zero"} - rare


def _placeholders(words: str) -> set[str]:
    return set(re.findall(r"{\w+}", words))


def test_plural_forms_are_those_of_unicode() -> None:
    for code, category in PLURALS.items():
        assert {category(n) for n in (*range(200), 1_000_000)} == CATEGORIES[code], code


def test_nothing_is_said_as_no_native_would() -> None:
    for folder, words in _catalogues():
        for code, never in NOT_SAID.items():
            for name, text in words[code].items():
                for said in [text] if isinstance(text, str) else text.values():
                    assert not any(each in said for each in never), (folder, code, name)
                    if code == "fr" and folder.endswith("pages/catalogues"):  # a text message has plain blanks
                        assert not re.search(r" [:;?!]", said), (folder, code, name)


def test_no_word_of_one_catalogue_hides_that_of_another() -> None:
    names = [name for part in PARTS for name in catalogue("en", part)]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


def test_every_text_an_operator_may_set_is_in_the_catalogue() -> None:
    assert set(TEXTS) <= catalogue("en").keys()
