//! Turns a picture's SVG into PNG, by the crate resvg. The font is compiled in, so the PNG is the same on every machine and needs no font of
//! the system.
//!
//! The font is Noto Sans (SIL Open Font License 1.1, `noto-sans.OFL.txt`) with Latin, Greek, Cyrillic and signs of arithmetic alone:
//! `pyftsubset NotoSans-Regular.ttf --unicodes=20-7E,A0-24F,370-3FF,400-4FF,2010-203A,2070-209C,20AC,2122,2190-2193,2200-22FF,FFFD
//! --layout-features=kern,mark --no-hinting --desubroutinize --name-IDs=*`. Letters that it lacks are left out.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};

/// The font, and its family's name.
const FONT: &[u8] = include_bytes!("noto-sans.ttf");
const FAMILY: &str = "Noto Sans";

/// Pixels of the PNG for a pixel of the SVG, in each direction: sharp on today's screens and in print.
pub(crate) const SCALE: u32 = 2;

/// Renders an SVG document that this crate drew as a PNG file; panics on any other that is not well formed.
pub fn render_png(svg: &str) -> Vec<u8> {
    let tree = Tree::from_str(svg, &options_with_font()).expect("a picture of ours is SVG");
    let size = tree.size().to_int_size();
    let pixels = Pixmap::new(SCALE * size.width(), SCALE * size.height());
    let mut pixels = pixels.expect("a picture of ours has a size");
    resvg::render(&tree, Transform::from_scale(SCALE as f32, SCALE as f32), &mut pixels.as_mut());
    pixels.encode_png().expect("memory takes every picture")
}

fn options_with_font() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..usvg::Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pixels that are not white, of a white picture of 100 by 40 with these words.
    fn ink(words: &str) -> usize {
        let svg = format!(
            "<svg width=\"100\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"100\" height=\"40\" \
             fill=\"#FFFFFF\"/><text x=\"5\" y=\"25\" font-family=\"sans-serif\" font-size=\"16\">{words}</text></svg>"
        );
        let bytes = render_png(&svg);
        assert_eq!(render_png(&svg), bytes, "the same each time");
        let pixels = Pixmap::decode_png(&bytes).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (200, 80));
        pixels.pixels().iter().filter(|pixel| (pixel.red(), pixel.alpha()) != (255, 255)).count()
    }

    #[test]
    fn words_are_drawn_without_a_font_of_the_system() {
        assert_eq!(ink(""), 0);
        let (one, two) = (ink("m"), ink("mm"));
        assert!(one > 100 && two > one * 3 / 2, "{one} {two}");
        for sign in ["±", "×", "µ", "–", "…", "Ж", "é"] {
            assert!(ink(sign) > 10, "{sign}");
        }
    }
}
