"""The words of the settings form: the definition is in English, and what is translated is there and no more."""

from __future__ import annotations

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue_settings import SETTINGS
from fairline.domain.settings_groups import GROUPS
from fairline.web.dashboard.form import choice_words, form, form_words

#: Settings that are shown in English in every language, until someone translates them. A new one may be named here.
UNTRANSLATED: set[str] = set()


def test_every_setting_is_translated_or_named_as_not_translated() -> None:
    for language in LANGUAGES[1:]:
        words = form_words(language)
        assert set(words.settings) | UNTRANSLATED == set(SETTINGS), language
        assert not set(words.settings) & UNTRANSLATED, language
        assert set(words.groups) == set(GROUPS), language
        for name, each in words.settings.items():
            assert each.label.strip(), (language, name)
            assert each.about.strip(), (language, name)
    assert set(form_words("en").settings) <= set(SETTINGS)


def test_every_choice_has_words_in_every_language() -> None:
    values = {value for group in form() for field in group["fields"] for value in field.get("choices", ())}
    for language in LANGUAGES:
        assert set(form_words(language).choices) == values, language
        assert set(choice_words(language)) == values


def test_a_setting_without_a_translation_is_shown_in_the_words_of_its_definition() -> None:
    translated = {field["name"] for group in form("de") for field in group["fields"]}
    assert translated == set(SETTINGS)
    (stock,) = (field for group in form("en") for field in group["fields"] if field["name"] == "stock")
    assert "stock" not in form_words("en").settings
    assert (stock["label"], stock["about"]) == ("Stock", "How much there is to sell in all; unset is unlimited.")
