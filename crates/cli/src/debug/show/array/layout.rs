//! Where the elements of an array stand in its text.

use super::{EDGE, WHOLE};

/// Lines are at most so long, unless a single element is longer.
const WIDTH: usize = 75;

/// The indices of the elements that are shown, in the order in which they are.
pub fn indices(shape: &[usize]) -> Vec<usize> {
    super::shown(shape).into_iter().flatten().collect()
}

/// The text of an array, from the words of its [`indices`].
pub fn text(shape: &[usize], words: &[String]) -> String {
    if shape.is_empty() {
        return words.first().cloned().unwrap_or_default();
    }
    if shape.contains(&0) {
        return "[]".to_owned();
    }
    let mut layout = Layout { cut: shape.iter().product::<usize>() > WHOLE, words: words.iter(), text: String::new() };
    layout.axis(shape, 1, WIDTH);
    layout.text
}

struct Layout<'a> {
    /// Whether long axes are cut.
    cut: bool,
    words: std::slice::Iter<'a, String>,
    text: String,
}

/// A place of an axis.
enum Place {
    Shown,
    Cut,
}

impl Layout<'_> {
    /// Writes an array; its lines after the first are indented so far.
    fn axis(&mut self, shape: &[usize], indent: usize, width: usize) {
        self.text.push('[');
        match shape {
            [size] => self.row(*size, indent, width),
            [size, inner @ ..] => {
                for (number, place) in self.places(*size).enumerate() {
                    if number > 0 {
                        self.text.extend(std::iter::repeat_n('\n', inner.len()));
                        self.text.extend(std::iter::repeat_n(' ', indent));
                    }
                    match place {
                        Place::Shown => self.axis(inner, indent + 1, width - 1),
                        Place::Cut => self.text.push_str("..."),
                    }
                }
            }
            [] => {}
        }
        self.text.push(']');
    }

    fn row(&mut self, size: usize, indent: usize, width: usize) {
        let mut column = indent;
        for (number, place) in self.places(size).enumerate() {
            let word = match place {
                Place::Shown => self.words.next().map_or("?", String::as_str),
                Place::Cut => "...",
            };
            let space = usize::from(number > 0);
            if number > 0 && column + space + word.len() > width - 1 {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push('\n');
                self.text.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if number > 0 {
                self.text.push(' ');
                column += 1;
            }
            self.text.push_str(word);
            column += word.len();
        }
    }

    fn places(&self, size: usize) -> impl Iterator<Item = Place> + use<> {
        let cut = self.cut && size > 2 * EDGE;
        let shown = if cut { 2 * EDGE + 1 } else { size };
        (0..shown).map(move |number| if cut && number == EDGE { Place::Cut } else { Place::Shown })
    }
}
