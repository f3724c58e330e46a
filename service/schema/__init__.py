"""The schema as text and as a catalog: reading ``sql/``, bundling it, and comparing databases."""

from service.schema.catalog import Catalog, catalog_of, differences
from service.schema.sources import bundle_text, load, source_files, upgrade_text

__all__ = [
    "Catalog",
    "bundle_text",
    "catalog_of",
    "differences",
    "load",
    "source_files",
    "upgrade_text",
]
