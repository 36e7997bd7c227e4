"""The other face of gpuplanner: the window, and the only place that imports Qt.

`application` wires everything once. `shell/` is the frame; `palette/`, `settings_page/` and `help_page/` come with it.
Each `*_place/` is a place of the rail. What places are made of: `appearance` (words, numbers and colours as they are
now), `background` (work beside the window), `notices`, `widgets/`, `fields/`, `table/`. A widget takes the Appearance
first, says messages and never texts, paints with `tokens`, and renders again when the Appearance says so.
"""
