//! The elements of an array as words of equal width, and their layout in the text.

use half::{bf16, f16};
use opscope::tensor::{DType, Element};

use super::{EDGE, WHOLE};

/// The maximum number of digits after the point.
const PRECISION: usize = 8;

/// Returns the elements as text, of equal width. A scalar (`alone`) has its own form.
pub fn texts(dtype: DType, elements: &[Element], alone: bool) -> Vec<String> {
    let floats: Vec<Float> = elements.iter().filter_map(|element| Float::of(dtype, *element)).collect();
    if !floats.is_empty() && floats.len() == elements.len() {
        return if alone { floats.iter().map(Float::alone).collect() } else { aligned(dtype, &floats) };
    }
    let words = elements.iter().map(|element| match element {
        // As wide as `False`, even if there is none.
        Element::Bool(true) => if alone { "True" } else { " True" }.to_owned(),
        Element::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    });
    let words: Vec<String> = words.collect();
    let width = if alone { 0 } else { words.iter().map(String::len).max().unwrap_or(0) };
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

/// A float with the shortest decimal number for it.
struct Float {
    exact: f64,
    /// The shortest decimal number that is parsed as the same float of the tensor's type.
    short: f64,
}

impl Float {
    fn of(dtype: DType, element: Element) -> Option<Self> {
        match element {
            Element::F64(value) => {
                Some(Self { exact: value, short: even(&format!("{value:e}"), value, |near| near == value) })
            }
            Element::F32(value) => {
                let short = match dtype {
                    DType::F16 => shortest(value, |near| f16::from_f32(near).to_f32() == value),
                    DType::Bf16 => shortest(value, |near| bf16::from_f32(near).to_f32() == value),
                    _ => even(&format!("{value:e}"), f64::from(value), |near| near as f32 == value),
                };
                Some(Self { exact: f64::from(value), short })
            }
            _ => None,
        }
    }

    fn alone(&self) -> String {
        if self.exact.is_finite() && self.short.abs() < 1e16 && (self.short == 0.0 || self.short.abs() >= 1e-4) {
            return format!("{:?}", self.short);
        }
        match self.exact.is_finite() {
            true => self.scientific().join(),
            false => self.infinite(),
        }
    }

    fn infinite(&self) -> String {
        match self.exact {
            nan if nan.is_nan() => "nan".to_owned(),
            positive if positive > 0.0 => "inf".to_owned(),
            _ => "-inf".to_owned(),
        }
    }

    fn positional(&self) -> Decimal {
        let short = format!("{}", self.short);
        let digits = short.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let text = if digits > PRECISION { format!("{:.PRECISION$}", self.exact) } else { short };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction = fraction.trim_end_matches('0');
        Decimal { whole: whole.to_owned(), fraction: fraction.to_owned(), exponent: String::new() }
    }

    fn scientific(&self) -> Decimal {
        let short = format!("{:e}", self.short);
        let digits = short.split_once('e').and_then(|(digits, _)| digits.split_once('.')).map_or(0, |(_, it)| it.len());
        let text = if digits > PRECISION { format!("{:.PRECISION$e}", self.exact) } else { short };
        Decimal::scientific(&text)
    }
}

/// The parts of a number's text.
struct Decimal {
    whole: String,
    fraction: String,
    /// The exponent with its sign; empty if there is none.
    exponent: String,
}

impl Decimal {
    /// Parses a text such as `1.5e-7`.
    fn scientific(text: &str) -> Self {
        let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        let fraction = fraction.trim_end_matches('0').to_owned();
        Self { whole: whole.to_owned(), fraction, exponent: format!("{sign}{digits:0>2}") }
    }

    fn join(&self) -> String {
        format!("{}.{}e{}", self.whole, self.fraction, self.exponent)
    }
}

/// Returns the shortest decimal number. Of two that are equally near to the exact one, it is the one with the even last
/// digit, as in numpy.
fn even(short: &str, exact: f64, is_same: impl Fn(f64) -> bool) -> f64 {
    let digits = short.split_once('e').and_then(|(digits, _)| digits.split_once('.')).map_or(0, |(_, it)| it.len());
    let rounded = format!("{exact:.digits$e}").parse().ok();
    rounded.filter(|near| is_same(*near)).or_else(|| short.parse().ok()).unwrap_or(exact)
}

fn shortest(value: f32, is_same: impl Fn(f32) -> bool) -> f64 {
    let texts = (0..PRECISION).map(|digits| format!("{value:.digits$e}"));
    let mut same = texts.filter(|text| text.parse().is_ok_and(&is_same));
    same.next().and_then(|text| text.parse().ok()).unwrap_or(f64::from(value))
}

/// Returns the magnitude at and above which a type cannot represent all digits before the point.
fn large(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 1e2,
        DType::F16 => 1e3,
        DType::F32 => 1e6,
        _ => 1e8,
    }
}

/// Returns floats of equal width, with exponents if their sizes differ much or are very large or small.
fn aligned(dtype: DType, floats: &[Float]) -> Vec<String> {
    let finite = || floats.iter().filter(|float| float.exact.is_finite());
    let sizes = || finite().map(|float| float.exact.abs()).filter(|size| *size != 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let scientific = most >= large(dtype) || most > 0.0 && (least < 1e-4 || most / least > 1000.0);
    let decimals: Vec<Decimal> =
        finite().map(|float| if scientific { float.scientific() } else { float.positional() }).collect();
    let widest = |part: fn(&Decimal) -> usize| decimals.iter().map(part).max().unwrap_or(0);
    let fraction = widest(|decimal| decimal.fraction.len());
    let exponent = widest(|decimal| decimal.exponent.len());
    let behind = 1 + fraction + if scientific { 1 + exponent } else { 0 };
    let infinite = floats.iter().filter(|float| !float.exact.is_finite()).map(|float| float.infinite().len());
    let width = infinite.max().unwrap_or(0).max(widest(|decimal| decimal.whole.len()) + behind);
    let mut decimals = decimals.into_iter();
    let mut word = |float: &Float| {
        if !float.exact.is_finite() {
            return float.infinite();
        }
        let mut decimal = decimals.next().expect("every finite number has a decimal");
        if scientific {
            if decimal.fraction.len() < fraction {
                // As in numpy, the missing digits are those of the exact number, not zeros.
                decimal = Decimal::scientific(&format!("{:.fraction$e}", float.exact));
            }
            let (sign, digits) = decimal.exponent.split_at(1);
            let digits = format!("{digits:0>width$}", width = exponent - 1);
            format!("{}.{:0<fraction$}e{sign}{digits}", decimal.whole, decimal.fraction)
        } else {
            format!("{}.{:<fraction$}", decimal.whole, decimal.fraction)
        }
    };
    floats.iter().map(|float| format!("{:>width$}", word(float))).collect()
}

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
