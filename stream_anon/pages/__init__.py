"""What all pages have in common: one frame, one style, and tables that stay readable at every width.

A page is a template beside the module that renders it. It extends `base.html.j2`, or `report.html.j2` if it has no
script. `style.css` is the style, `stacked.css` what becomes of a table whose columns do not fit. `tables.html.j2`
draws the tables of reports, `tables.js` those of pages with a script.
"""
