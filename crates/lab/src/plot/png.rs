//! A picture as PNG: its SVG, drawn by resvg with a font that comes along, so that it is the same on every machine and
//! no font of the system's is needed. The PNG says nothing that the SVG does not say.
//!
//! The font is Noto Sans (SIL Open Font License 1.1, `noto-sans.OFL.txt`) with Latin, Greek, Cyrillic and signs of arithmetic alone:
//! `pyftsubset NotoSans-Regular.ttf --unicodes=20-7E,A0-24F,370-3FF,400-4FF,2010-203A,2070-209C,20AC,2122,2190-2193,2200-22FF,FFFD
//! --layout-features=kern,mark --no-hinting --desubroutinize --name-IDs=*`. Letters that it lacks are left out.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};

const FONT: &[u8] = include_bytes!("noto-sans.ttf");
const FAMILY: &str = "Noto Sans";

/// Pixels for one of the SVG's, along each side: sharp on today's screens and in print.
pub(crate) const SCALE: u32 = 2;

/// An SVG document of ours as a PNG file.
pub fn render_png(svg: &str) -> Vec<u8> {
    // Both are made here: that they do not fit together is an error of ours.
    let tree = Tree::from_str(svg, &font_options()).expect("a picture of ours is SVG");
    let size = tree.size().to_int_size();
    let pixels = Pixmap::new(SCALE * size.width(), SCALE * size.height());
    let mut pixels = pixels.expect("a picture of ours has a size");
    resvg::render(&tree, Transform::from_scale(SCALE as f32, SCALE as f32), &mut pixels.as_mut());
    pixels.encode_png().expect("memory takes every picture")
}

fn font_options() -> Options<'static> {
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
