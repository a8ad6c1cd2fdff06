"""Records for catalogues: Croissant, RO-Crate, DCAT-AP, CSVW, and a citation file; all from the same facts.

**Source**: MLCommons Croissant 1.1; RO-Crate 1.1; DCAT-AP 3.0 and HealthDCAT-AP; W3C Tabular Data on the Web (CSVW);
Citation File Format 1.2.0. Nothing is invented for a field that only the steward can fill: it is left out, and
``todo`` names it.
"""

import json
from collections.abc import Mapping
from typing import Any

from synth.report.documents.facts import Facts, OfTable, kind_of
from synth.schema.column import Column

MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "html": "text/html",
}
CROISSANT_TYPES = {"identifier": "sc:Integer", "integer": "sc:Integer", "float": "sc:Float", "datetime": "sc:DateTime"}
CSVW_TYPES = {"integer": "integer", "float": "double", "datetime": "dateTime"}
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "samplingRate": "cr:samplingRate",
    "equivalentProperty": "cr:equivalentProperty",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def written(record: Mapping[str, Any]) -> str:
    """A record as its file holds it."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def croissant(f: Facts) -> dict[str, Any]:
    """The tables for machine-learning catalogues: files with their checksums, and every column with its type."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": f.name,
        "description": f.description,
        "datePublished": f.published,
        "version": "1.0.0",
        "citeAs": _cited(f),
        **_people(f, "creator"),
        "rai:dataCollection": "Drawn from a model of noisy answers about "
        f"{'private tables' if f.root else 'a private table'}.",
        "rai:personalSensitiveInformation": f"Rows drawn from noisy answers about real ones; epsilon "
        f"{f.card['epsilon']:g}, delta {f.card['delta']:g}, {f.card['relation_in_words']}.",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": t.file,
                "name": t.file,
                "contentUrl": t.file,
                "contentSize": f"{f.files[t.file][0]} B",
                "encodingFormat": MEDIA["csv"],
                "sha256": f.files[t.file][1],
            }
            for t in f.tables
        ],
        "recordSet": [_record_set(t) for t in f.tables],
    }


def _record_set(table: OfTable) -> dict[str, Any]:
    """A table's fields; of tables that belong together its key, and to which fields of another its own refer."""
    name = table.name
    above, referred = table.above or ("", {})
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{n}",
            "name": n,
            "description": _described(column),
            "dataType": "sc:Text" if column.pattern else CROISSANT_TYPES.get(column.type, "sc:Text"),
            "source": {"fileObject": {"@id": table.file}, "extract": {"column": n}},
            **({"references": {"field": {"@id": f"{above}/{referred[n]}"}}} if n in referred else {}),
        }
        for n, column in table.schema.columns.items()
    ]
    keys = [{"@id": f"{name}/{n}"} for n in table.keys]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table.rows,
        **({"key": keys} if keys else {}),
        "field": fields,
    }


def ro_crate(f: Facts) -> dict[str, Any]:
    """A research object: the root, its parts, the software, and the run that made them."""
    parts = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "contentSize": str(size),
            "sha256": digest,
            **({"encodingFormat": MEDIA[k]} if (k := name.rpartition(".")[2]) in MEDIA else {}),
        }
        for name, (size, digest) in sorted(f.files.items())
    ]
    people = [{"@id": f"#{i}", "@type": "Organization", "name": n} for i, n in enumerate(f.curators)]
    ids, named = [{"@id": p["@id"]} for p in parts], [{"@id": p["@id"]} for p in people]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f.name,
        "description": f.description,
        "datePublished": f.published,
        "hasPart": ids,
        "mentions": {"@id": "#run"},
        **({"publisher": named} if named else {}),
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of the method {f.card['method']}",
        "endTime": f.card["created"],
        "instrument": {"@id": "#software"},
        "result": ids,
        "description": f"epsilon {f.card['epsilon']:g}, delta {f.card['delta']:g}; {f.card['meaning']}",
    }
    versions = f.card.get("versions") or {}
    software = {
        "@id": "#software",
        "@type": "SoftwareApplication",
        "name": "facsimile-synth",
        "softwareVersion": str(versions.get("facsimile-synth", "unknown")),
    }
    described = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [described, root, *parts, *people, run, software],
    }


def dcat(f: Facts) -> dict[str, Any]:
    """The dataset as DCAT-AP has it; as HealthDCAT-AP where the steward says that the sector is health."""
    health = str(f.own.get("sector", "")).strip().lower() in ("health", "healthcare", "gesundheit")
    context = {
        "dcat": "http://www.w3.org/ns/dcat#",
        "dct": "http://purl.org/dc/terms/",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "spdx": "http://spdx.org/rdf/terms#",
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "vcard": "http://www.w3.org/2006/vcard/ns#",
        "dpv": "https://w3id.org/dpv#",
        "healthdcatap": "http://healthdataportal.eu/ns/health#",
    }
    files = [
        _distribution(n, size, digest)
        for n, (size, digest) in sorted(f.files.items())
        if n.rpartition(".")[2] in ("csv", "parquet")
    ]
    out: dict[str, Any] = {
        "@context": context,
        "@id": "#dataset",
        "@type": "dcat:Dataset",
        "dct:title": {"@value": f.name, "@language": "en"},
        "dct:description": {"@value": f.description, "@language": "en"},
        "dct:issued": {"@value": f.published, "@type": "xsd:date"},
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "dct:description": f"Made by {f.card['method']} from noisy answers; {f.card['meaning']}.",
        },
        "dcat:distribution": files,
    }
    if f.curators:
        out["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": f.curators[0]}
    if f.own.get("contact"):
        out["dcat:contactPoint"] = {"@type": "vcard:Kind", "vcard:fn": str(f.own["contact"])}
    if f.own.get("region"):
        out["dct:spatial"] = {"@type": "dct:Location", "dct:description": str(f.own["region"])}
    if health:
        theme = "http://publications.europa.eu/resource/authority/data-theme/HEAL"
        rows = {"@value": str(f.card["rows"]["synthetic"]), "@type": "xsd:nonNegativeInteger"}
        named = {"@value": "Health", "@language": "en"}
        out |= {
            "dcat:theme": {"@id": theme, "@type": "skos:Concept", "skos:prefLabel": named},
            "healthdcatap:numberOfRecords": rows,
            "healthdcatap:populationCoverage": {
                "@value": "Synthetic rows, drawn from noisy answers.",
                "@language": "en",
            },
        }
    return out


def csvw(f: Facts) -> dict[str, Any]:
    """The columns of each CSV: name, type, range, missing codes; keys, where there are several tables.

    To lie beside one table as synthetic.csv-metadata.json, beside several as csv-metadata.json.
    """
    dialect = {"encoding": "utf-8", "header": True, "delimiter": ","}
    head = {"@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}]}
    about = {"dc:title": f.name, "dc:description": f.description}
    if len(f.tables) == 1:
        only = f.tables[0]
        return {**head, "url": only.file, **about, "dialect": dialect, "tableSchema": _table_schema(only)}
    return {
        **head,
        **about,
        "dialect": dialect,
        "tables": [
            {"url": t.file, "dc:title": t.name, "dc:description": t.rows, "tableSchema": _table_schema(t)}
            for t in f.tables
        ],
    }


def _table_schema(table: OfTable) -> dict[str, Any]:
    out: dict[str, Any] = {"columns": [_column(n, c) for n, c in table.schema.columns.items()]}
    if table.keys:
        out["primaryKey"] = list(table.keys)
    if table.above:
        above, referred = table.above
        out["foreignKeys"] = [
            {
                "columnReference": list(referred),
                "reference": {"resource": f"{above}.csv", "columnReference": list(referred.values())},
            }
        ]
    return out


def citation(f: Facts) -> str:
    """CITATION.cff, as YAML; whoever deposits the release adds its DOI."""
    people = f.curators or ["To be named by the steward"]
    lines = [
        "cff-version: 1.2.0",
        "message: Please cite this dataset as below.",
        "type: dataset",
        f"title: {json.dumps(f.name, ensure_ascii=False)}",
        "authors:",
        *(f"  - name: {json.dumps(n, ensure_ascii=False)}" for n in people),
        f"date-released: {f.published}",
        "version: 1.0.0",
        f"abstract: {json.dumps(f.description, ensure_ascii=False)}",
    ]
    return "\n".join(lines) + "\n"


def todo(f: Facts) -> list[str]:
    """Fields of the records that only the steward can fill, and that are left out."""
    wanted = {"curators": "publisher and creator", "contact": "contact point", "region": "region covered"}
    return [words for fact, words in wanted.items() if not f.own.get(fact)] + ["licence", "identifier (DOI)"]


def _people(f: Facts, role: str) -> dict[str, Any]:
    return {role: [{"@type": "sc:Organization", "name": n} for n in f.curators]} if f.curators else {}


def _cited(f: Facts) -> str:
    who = f"{', '.join(f.curators)}: " if f.curators else ""
    return f"{who}{f.name}. {'Synthetic tables' if f.root else 'Synthetic table'}, {f.published[:4]}."


def _described(column: Column) -> str:
    return f"{column.description}; {kind_of(column)}" if column.description else kind_of(column)


def _distribution(name: str, size: int, digest: str) -> dict[str, Any]:
    return {
        "@type": "dcat:Distribution",
        "@id": f"#{name}",
        "dct:title": name,
        "dcat:accessURL": {"@id": name},
        "dcat:byteSize": {"@value": str(size), "@type": "xsd:nonNegativeInteger"},
        "dcat:mediaType": {
            "@id": "https://www.iana.org/assignments/media-types/" + MEDIA[name.rpartition(".")[2]],
            "@type": "dct:MediaType",
        },
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:checksumValue": {"@value": digest, "@type": "xsd:hexBinary"},
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"},
        },
    }


def _column(name: str, column: Column) -> dict[str, Any]:
    codes = list(column.missing_codes)
    base: dict[str, Any] = {"base": CSVW_TYPES.get(column.type, "string")}
    if column.type in ("integer", "float"):
        base |= {"minimum": str(column.min), "maximum": str(column.max)}
    out = {"name": name, "titles": name, "dc:description": _described(column), "datatype": base, "required": not codes}
    return {**out, "null": codes} if codes else out
