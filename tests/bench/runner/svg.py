"""A chart as SVG: two axes, lines with labels. Readable on a light and a dark page: it has its own background and follows
the colour scheme of the reader."""

import html
import math

WIDTH, HEIGHT = 900, 480
LEFT, RIGHT, TOP, BOTTOM = 84, 274, 88, 62
LABEL_GAP = 17  # pixels from one label to the next
# The colours are distinguishable for the colour-blind, on both backgrounds.
STYLE = """
  .ground { fill: #ffffff; stroke: #d0d7de }
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .quiet { fill: #59636e }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .axis { stroke: #818b98; stroke-width: 1 }
  .lead { stroke: #818b98; stroke-width: 0.7; fill: none }
  .line { fill: none; stroke-width: 2.4; stroke-linejoin: round }
  .whisker { stroke-width: 1.4 }
  .dash { stroke-dasharray: 6 4 }
  .s0 { stroke: #0969da } .f0 { fill: #0969da }
  .s1 { stroke: #bc4c00 } .f1 { fill: #bc4c00 }
  .s2 { stroke: #57606a } .f2 { fill: #57606a }
  .s3 { stroke: #8250df } .f3 { fill: #8250df }
  .dot { stroke: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #30363d }
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .grid { stroke: #262c34 }
    .axis, .lead { stroke: #656c76 }
    .s0 { stroke: #58a6ff } .f0 { fill: #58a6ff }
    .s1 { stroke: #f0883e } .f1 { fill: #f0883e }
    .s2 { stroke: #9ea7b1 } .f2 { fill: #9ea7b1 }
    .s3 { stroke: #bc8cff } .f3 { fill: #bc8cff }
  }
"""


class Axis:
    """From values to pixels. ticks: (value, text)."""

    def __init__(self, low, high, begin, end, is_log, ticks, title):
        self._low, self._high = (math.log(low), math.log(high)) if is_log else (low, high)
        self._begin, self._end, self._is_log = begin, end, is_log
        self.ticks, self.title = ticks, title

    def place(self, value):
        value = math.log(value) if self._is_log else value
        return self._begin + (value - self._low) / ((self._high - self._low) or 1) * (self._end - self._begin)


class Chart:
    def __init__(self, title, subtitle, x_axis, y_axis):
        self._x, self._y = x_axis, y_axis
        self._parts, self._labels = [], []
        self._text(LEFT - 60, 28, title, "title")
        self._text(LEFT - 60, 48, subtitle, "quiet")
        self._draw_axes()

    def _add(self, text):
        self._parts.append("  " + text)

    def _text(self, x, y, text, classes="", anchor="start"):
        self._add(f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def _segment(self, x1, y1, x2, y2, classes):
        self._add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>')

    def _draw_axes(self):
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for value, text in self._y.ticks:
            y = self._y.place(value)
            self._segment(LEFT, y, right, y, "grid")
            self._text(LEFT - 8, y + 4, text, "quiet", "end")
        for value, text in self._x.ticks:
            x = self._x.place(value)
            self._segment(x, bottom, x, bottom + 5, "axis")
            self._text(x, bottom + 20, text, "quiet", "middle")
        self._segment(LEFT, bottom, right, bottom, "axis")
        self._text((LEFT + right) / 2, bottom + 42, self._x.title, "", "middle")
        self._text(LEFT - 60, TOP - 12, self._y.title)

    def _label(self, x, y, text, color):
        self._labels.append((y, x, text, color))

    def line(self, points, text, color, dashed=False):
        """points: (x, {median, min, max}); a whisker where rounds differ, and a label at the right end."""
        if not points:
            return
        places = [(self._x.place(x), self._y.place(found["median"])) for x, found in points]
        dash = " dash" if dashed else ""
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(places))
        self._add(f'<path d="{path}" class="line s{color}{dash}"/>')
        for (x, y), (_, found) in zip(places, points):
            self._segment(x, self._y.place(found["min"]), x, self._y.place(found["max"]), f"whisker s{color}")
            self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" class="dot f{color}"/>')
        self._label(*places[-1], text, color)

    def level(self, value, text, color):
        """Draw a line for a value that does not depend on x."""
        y = self._y.place(value)
        self._segment(LEFT, y, WIDTH - RIGHT, y, f"line dash s{color}")
        self._label(WIDTH - RIGHT, y, text, color)

    def _place_labels(self):
        """Place labels beside the ends of their lines, moved apart if they would overlap."""
        labels = sorted(self._labels)
        places = []
        for y, *_ in labels:
            places.append(max(y, places[-1] + LABEL_GAP) if places else y)
        low = HEIGHT - BOTTOM
        for i in reversed(range(len(places))):
            places[i] = min(places[i], low)
            low = places[i] - LABEL_GAP
        for (y, x, text, color), at in zip(labels, places):
            right = WIDTH - RIGHT + 8
            self._add(f'<path d="M{x + 5:.1f} {y:.1f} L{right:.1f} {y:.1f} L{right + 10:.1f} {at:.1f}" class="lead"/>')
            self._text(right + 14, at + 4, text, f"f{color}")

    def render(self):
        self._place_labels()
        body = "\n".join(self._parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
                f'height="{HEIGHT}" role="img">\n<style>{STYLE}</style>\n'
                f'  <rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" class="ground"/>\n'
                f"{body}\n</svg>\n")


def x_axis(low, high, is_log, ticks, title):
    return Axis(low, high, LEFT + 14, WIDTH - RIGHT - 14, is_log, ticks, title)


def y_axis(low, high, is_log, ticks, title):
    return Axis(low, high, HEIGHT - BOTTOM, TOP + 8, is_log, ticks, title)
