"""The chapter of a data-protection impact assessment that a release can answer, in English and in German."""

from synth.report.documents.english import fact
from synth.report.documents.facts import Document, Facts, Line

RELATIONS = {
    "add_remove": "eine Zeile mehr oder weniger; auch die Zahl der Zeilen ist geschützt",
    "replace_one": "eine Zeile durch eine andere ersetzt; die Zahl der Zeilen ist öffentlich",
    "zero_out": "eine Zeile durch eine leere ersetzt; die Zahl der Zeilen ist öffentlich",
}
WAHL = {
    "unstated": "Nicht angegeben, wie die Freigabe unter Kandidaten gewählt wurde.",
    "only": "Es gab keinen anderen Kandidaten.",
    "before": "Der Lauf stand fest, bevor irgendetwas mit den privaten Zeilen verglichen wurde.",
    "releases": "Gewählt allein nach freigegebenen Zahlen: Vorschau, Karte, veröffentlichter Bericht.",
    "all": "Alle Kandidaten sind freigegeben.",
    "private": "Gewählt durch eine bezahlte private Auswahl.",
    "scores": "Gewählt nach dem Vergleich mit den privaten Zeilen; die Garantie deckt das nicht.",
}


def english(f: Facts) -> Document:
    """Article 35(7) GDPR: description, necessity, risks, measures."""
    a = f.about
    return Document(
        title=f"Data-protection impact assessment: the synthetic {f.of('table', 'tables')}",
        intro="A chapter for the assessment under Article 35 GDPR. It answers what the release can answer.",
        parts=(
            (
                "Description of the processing",
                (
                    fact(
                        "What is done?",
                        f"{f.description} Measured of the private {f.of('table', 'tables')}: {f.measured}.",
                    ),
                    fact("Which data?", f"Columns {', '.join(f.schema.retained().columns)}."),
                    f.stated("For which purpose?", "intended_use", "State the purpose."),
                    f.stated("Who is responsible?", "controller", "Name the controller."),
                    f.stated(
                        "On which legal basis?",
                        "legal_basis",
                        "State the legal basis of making and of publishing "
                        f"{f.of('the table', 'the tables')}, and that of special categories of data.",
                    ),
                ),
            ),
            (
                "Necessity and proportionality",
                (
                    f.stated(
                        "Why is it necessary?",
                        "necessity",
                        "State why the purpose cannot be reached with less: tables, access on site, fewer columns.",
                    ),
                    fact(
                        "What limits the disclosure?",
                        f"The unit of privacy is {f.unit}; epsilon {a['epsilon']:g}, delta "
                        f"{a['delta']:g}, charged as line {a['ledger_entry']['number']} of a ledger before a row was "
                        "read.",
                    ),
                ),
            ),
            (
                "Risks to the persons",
                (
                    fact(
                        "Singling out",
                        f"No row was copied. Whether a unit was in the {f.of('table', 'tables')} can be "
                        f"guessed with at most {f.odds} instead of 50 %, whatever else is known (but for delta).",
                    ),
                    fact("Linkability", str(a.get("linkage", "-"))),
                    fact(
                        "Inference",
                        "What is true of many can be inferred of one; the guarantee bounds only what a "
                        "unit's own rows add.",
                    ),
                    fact("What is not protected", f.invariants),
                    fact(
                        "Other releases",
                        "Every release about the same persons adds to the risk; those of the ledger are summed there."
                        f"{f.in_all}",
                    ),
                    f.stated(
                        "How grave, how likely?", "severity", "Judge severity and likelihood for the groups concerned."
                    ),
                ),
            ),
            (
                "Measures",
                (
                    fact("Against reconstruction and membership", f"Noise before anything else: {f.mechanisms}."),
                    fact("Against weak randomness", f"{a['randomness']['privacy']}."),
                    fact("Against attacks on arithmetic", str(a["floating_point"])),
                    fact("Against choosing by looking", f"Chosen among candidates: {a['selection']['in_words']}."),
                    f.stated("Who approved it?", "approver", "Name who approved the release, and when."),
                    f.stated("Organisation", "access", "State who has access to the source, and how long it is kept."),
                ),
            ),
            (
                "Outcome",
                (
                    f.stated("Data-protection officer's advice", "advice", "To be written."),
                    f.stated("Views of the persons concerned", "views", "To be written, or why they were not sought."),
                    f.stated("Residual risk", "residual_risk", "To be judged; Article 36 if it is high."),
                ),
            ),
        ),
    )


def german(f: Facts) -> Document:
    """As ``english``."""
    a = f.about
    source = f.of("einer vertraulichen Tabelle wurde", "vertraulichen Tabellen wurden")
    made = (
        f"Aus {source} mit dem Verfahren {a['method']} unter Differential Privacy {f.ausmass} erzeugt; keine Zeile "
        f"ist aus {f.of('der privaten Tabelle', 'den privaten Tabellen')} kopiert, jede aus einem Modell "
        "verrauschter Antworten gezogen; gleicht eine einer wirklichen, ist das Zufall."
    )
    relation = RELATIONS.get(str(a["relation"]), str(a["relation"]))
    public = [c for c, s in (a.get("public_facts") or {}).items() if s != "private"]
    return Document(
        lang="de",
        title=f"Datenschutz-Folgenabschätzung: die {f.of('synthetische Tabelle', 'synthetischen Tabellen')}",
        intro="Ein Kapitel für die Abschätzung nach Artikel 35 DSGVO. Es beantwortet, was die Freigabe selbst "
        "beantworten kann.",
        parts=(
            (
                "Beschreibung der Verarbeitung",
                (
                    fact("Was geschieht?", made),
                    fact("Welche Daten?", f"Spalten: {', '.join(f.schema.retained().columns)}."),
                    f.stated("Zu welchem Zweck?", "intended_use", "Den Zweck angeben."),
                    f.stated("Wer ist verantwortlich?", "controller", "Den Verantwortlichen nennen."),
                    f.stated(
                        "Auf welcher Rechtsgrundlage?",
                        "legal_basis",
                        "Rechtsgrundlage der Erzeugung und der Veröffentlichung angeben, "
                        "auch für besondere Kategorien personenbezogener Daten.",
                    ),
                ),
            ),
            (
                "Notwendigkeit und Verhältnismäßigkeit",
                (
                    f.stated(
                        "Warum ist es notwendig?",
                        "necessity",
                        "Begründen, warum der Zweck nicht mit weniger erreicht wird: Tabellen, "
                        "Zugang vor Ort, weniger Spalten.",
                    ),
                    fact(
                        "Was begrenzt die Offenlegung?",
                        f"Geschützte Einheit ist {f.einheit}, im Vergleich zweier "
                        f"{f.of('Tabellen', 'Bestände')}: "
                        f"{f.of(relation, relation.replace('Zeile', 'Einheit').replace('Einheitn', 'Einheiten'))}. "
                        f"Epsilon {a['epsilon']:g}, Delta {a['delta']:g}, vor dem Lesen der ersten Zeile "
                        f"in ein Hauptbuch gebucht (Eintrag {a['ledger_entry']['number']}).",
                    ),
                ),
            ),
            (
                "Risiken für die betroffenen Personen",
                (
                    fact(
                        "Herausgreifen",
                        "Keine Zeile ist von der einer Person kopiert. Ob eine Einheit in "
                        f"{f.of('der Tabelle', 'den Tabellen')} stand, lässt sich mit höchstens {f.odds} "
                        "statt 50 % Wahrscheinlichkeit erraten, gleich welches Vorwissen besteht (bis auf Delta).",
                    ),
                    fact(
                        "Verknüpfbarkeit",
                        "Kennungen werden durch frische Schlüssel ersetzt, die nur für ihre Zeile gelten."
                        if a.get("identifiers")
                        else "Die Tabelle enthält keine Kennungen.",
                    ),
                    fact(
                        "Inferenz",
                        "Was für viele gilt, lässt sich für eine Person vermuten; begrenzt ist nur, was die "
                        "Zeilen der Einheit selbst hinzufügen.",
                    ),
                    fact(
                        "Was nicht geschützt ist",
                        "Spaltennamen; Art, Grenzen und Werte, die das Schema als öffentlich "
                        f"führt: {', '.join(public) or 'keine'}.",
                    ),
                    fact(
                        "Weitere Freigaben",
                        "Jede weitere Freigabe über dieselben Personen erhöht das Risiko; die des "
                        "Hauptbuchs werden dort summiert.",
                    ),
                    f.stated(
                        "Wie schwer, wie wahrscheinlich?",
                        "severity",
                        "Schwere und Eintrittswahrscheinlichkeit für die betroffenen Gruppen beurteilen.",
                    ),
                ),
            ),
            _measures(f),
            _outcome(f),
        ),
    )


def _measures(f: Facts) -> tuple[str, tuple[Line, ...]]:
    a = f.about
    return (
        "Abhilfemaßnahmen",
        (
            fact(
                "Gegen Rekonstruktion und Nachweis der Zugehörigkeit",
                "Rauschen vor jedem weiteren Schritt; die "
                "Karte der Freigabe führt jeden Mechanismus mit Empfindlichkeit und Rauschen.",
            ),
            fact(
                "Gegen schwachen Zufall",
                "Die Zufallszahlen des Rauschens stammen von einem Chiffriergenerator "
                "mit einem Schlüssel des Betriebssystems.",
            ),
            fact(
                "Gegen Angriffe auf die Rechnung",
                "Summen sind exakt, in ganzen Vielfachen einer Schrittweite; "
                "das Rauschen ist auf dasselbe Raster gerundet.",
            ),
            fact("Gegen Auswahl durch Hinsehen", WAHL[a["selection"]["how"]]),
            f.stated("Wer hat genehmigt?", "approver", "Angeben, wer die Freigabe genehmigt hat und wann."),
            f.stated("Organisation", "access", "Angeben, wer Zugang zur Quelle hat und wie lange sie aufbewahrt wird."),
        ),
    )


def _outcome(f: Facts) -> tuple[str, tuple[Line, ...]]:
    contact = f" Ansprechstelle: {f.own['contact']}." if f.own.get("contact") else ""
    return (
        "Ergebnis",
        (
            f.stated("Rat des Datenschutzbeauftragten", "advice", "Zu schreiben."),
            f.stated("Standpunkt der Betroffenen", "views", "Zu schreiben, oder warum er nicht eingeholt wurde."),
            f.stated("Restrisiko", "residual_risk", f"Zu beurteilen; Artikel 36, wenn es hoch ist.{contact}"),
        ),
    )
