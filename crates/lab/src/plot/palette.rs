//! The colours of pictures: those of the report page in light (`web/src/style/colours.css`). A picture's background is white, so that one
//! file suits light and dark; a page of ours replaces these colours by its own, which follow the reader's theme.

use plotters::style::{RGBColor, WHITE};

/// The background.
pub(crate) const PAPER: RGBColor = WHITE;
/// Text, axes and intervals.
pub(crate) const INK: RGBColor = RGBColor(0x1c, 0x20, 0x24);
/// Less important text.
pub(crate) const SOFT: RGBColor = RGBColor(0x5b, 0x64, 0x6d);
/// Lines of the grid.
pub(crate) const RULE: RGBColor = RGBColor(0xdf, 0xe3, 0xe6);

/// The sides of a comparison, by their number.
pub(crate) const SIDES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x85, 0x5f),
    RGBColor(0xb0, 0x57, 0x8d),
    RGBColor(0xb8, 0x7d, 0x00),
    RGBColor(0x3c, 0x8f, 0xc4),
    RGBColor(0x55, 0x5d, 0x66),
];

/// A difference for the better, for the worse, and neither.
pub(crate) const GOOD: RGBColor = RGBColor(0x00, 0x69, 0x4b);
pub(crate) const BAD: RGBColor = RGBColor(0xa3, 0x3c, 0x00);
pub(crate) const EVEN: RGBColor = RGBColor(0x47, 0x52, 0x5c);

/// The colour of the side of this number; after seven they begin again.
pub(crate) fn side_colour(index: usize) -> RGBColor {
    SIDES[index % SIDES.len()]
}

/// Each colour as SVG has it, with the name of the page's variable for it.
pub(crate) fn variables() -> Vec<(String, String)> {
    let named =
        [(PAPER, "paper"), (INK, "ink"), (SOFT, "soft"), (RULE, "rule"), (GOOD, "good"), (BAD, "bad"), (EVEN, "even")];
    let named = named.into_iter().map(|(colour, name)| (colour, name.to_owned()));
    let sides = SIDES.into_iter().enumerate().map(|(index, colour)| (colour, format!("side-{index}")));
    named.chain(sides).map(|(RGBColor(r, g, b), name)| (format!("#{r:02X}{g:02X}{b:02X}"), name)).collect()
}
