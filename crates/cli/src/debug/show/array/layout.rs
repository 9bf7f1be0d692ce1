//! The layout of an array's elements in its text.

use super::{EDGE, WHOLE};

/// The length of the longest line, unless a single element is longer.
const WIDTH: usize = 75;

/// Returns the indices of the elements that are shown, in their order.
pub fn indices(shape: &[usize]) -> Vec<usize> {
    super::shown(shape).into_iter().flatten().collect()
}

/// Returns the text of an array from the words of its [`indices`].
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

/// An entry of an axis in the text.
enum Entry {
    Shown,
    Cut,
}

impl Layout<'_> {
    /// Writes an array. Its lines after the first are indented by `indent`.
    fn axis(&mut self, shape: &[usize], indent: usize, width: usize) {
        self.text.push('[');
        match shape {
            [size] => self.row(*size, indent, width),
            [size, inner @ ..] => {
                for (number, entry) in self.entries(*size).enumerate() {
                    if number > 0 {
                        self.text.extend(std::iter::repeat_n('\n', inner.len()));
                        self.text.extend(std::iter::repeat_n(' ', indent));
                    }
                    match entry {
                        Entry::Shown => self.axis(inner, indent + 1, width - 1),
                        Entry::Cut => self.text.push_str("..."),
                    }
                }
            }
            [] => {}
        }
        self.text.push(']');
    }

    fn row(&mut self, size: usize, indent: usize, width: usize) {
        let mut column = indent;
        for (number, entry) in self.entries(size).enumerate() {
            let word = match entry {
                Entry::Shown => self.words.next().map_or("?", String::as_str),
                Entry::Cut => "...",
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

    fn entries(&self, size: usize) -> impl Iterator<Item = Entry> + use<> {
        let cut = self.cut && size > 2 * EDGE;
        let shown = if cut { 2 * EDGE + 1 } else { size };
        (0..shown).map(move |number| if cut && number == EDGE { Entry::Cut } else { Entry::Shown })
    }
}
