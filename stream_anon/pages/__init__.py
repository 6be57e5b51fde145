"""What all pages have in common: one style, and tables that stay readable at every width.

`style.css` is the style, `stacked.css` what becomes of a table whose columns do not fit, `tables.js` what builds
tables in pages with a script. `style.py` puts them into a page, `report.py` writes pages without a script.
"""
