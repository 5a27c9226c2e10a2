// The form by which staff put someone in line, at the desk and in the list of people.

import { t } from "./admin-text.js";
import { LEVELS, languageField } from "./admin-words.js";

/** The fields of the form; `more` come after the number of people. */
export const joinFields = (languages, ...more) => [
  { name: "name", label: t("form_name"), longest: 100 },
  { name: "phone", label: t("phone"), kind: "tel" },
  { name: "email", label: t("email"), kind: "email" },
  languageField(languages),
  { name: "party_size", label: t("people_field"), kind: "number", min: 1, max: 1000, value: 1 },
  ...more,
  {
    name: "priority",
    label: t("priority"),
    choices: [["0", t("none")], ...LEVELS],
    value: "0",
  },
];

/** What was typed, as the body of the call. */
export const joinBody = ({ name, phone, email, language, series, party_size: size, priority }) => ({
  ...(name && { name }),
  ...(phone && { phone }),
  ...(email && { email }),
  language,
  ...(series && { series }),
  party_size: size ?? 1,
  priority: Number(priority),
});
