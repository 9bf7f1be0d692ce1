//! What `exported` and `in_table` generate from a function.

#![deny(unsafe_code)]
#![allow(missing_docs)]

use std::cell::RefCell;

use opscope_border::{Answer, ArgumentError, Bytes, Failure, Items, Out, Text, exported, in_table};

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
    static IS_REFUSED: RefCell<bool> = const { RefCell::new(false) };
}

#[derive(Debug)]
struct Wrong(i32, String);

impl From<ArgumentError> for Wrong {
    fn from(error: ArgumentError) -> Self {
        Self(2, format!("{error:?}"))
    }
}

impl Failure for Wrong {
    type Status = i32;

    fn success() -> i32 {
        0
    }

    fn panicked(text: &str) -> Self {
        Self(3, text.to_owned())
    }

    fn report(self) -> i32 {
        LAST.set(self.1);
        self.0
    }

    fn refusal() -> Option<i32> {
        IS_REFUSED.with_borrow(|is_refused| is_refused.then_some(4))
    }
}

/// Runs a body whether calls are refused or not.
fn anywhere(body: impl FnOnce() -> Result<(), Wrong>) -> i32 {
    opscope_border::answer(body)
}

#[exported]
pub fn border_test_sum(
    #[counted_by(count)] numbers: Items<'_, u32>,
    count: u64,
    sum: Out<'_, u32>,
) -> Result<(), Wrong> {
    let sum = sum.place("sum")?;
    sum.write(numbers.at_most(3, "numbers")?.iter().sum());
    Ok(())
}

#[exported(anywhere)]
pub fn border_test_length(
    #[counted_by(size)] bytes: Bytes<'_>,
    size: usize,
    length: Out<'_, usize>,
) -> Result<(), Wrong> {
    length.place("length")?.write(bytes.get("bytes")?.len());
    Ok(())
}

#[exported]
pub fn border_test_panic(text: Text<'_>) -> Result<(), Wrong> {
    panic!("{}", text.str("text")?);
}

#[exported]
pub fn border_test_plain(text: Text<'_>) -> usize {
    text.given().map_or(0, |text| text.count_bytes())
}

mod first {
    use super::{Text, Wrong, anywhere, in_table};

    #[in_table(anywhere)]
    pub fn border_test_entry(text: Text<'_>) -> Result<(), Wrong> {
        Err(Wrong(5, text.str("text")?.to_owned()))
    }
}

mod second {
    use super::in_table;

    /// This name exists only in Rust, because C allows only one function with a name.
    #[in_table]
    pub fn border_test_entry(number: u32) -> u32 {
        number + 1
    }
}

#[test]
fn functions_in_tables_have_no_names_in_c() {
    let entry: extern "C" fn(Text<'_>) -> i32 = first::border_test_entry;
    assert_eq!((entry(Text::from(c"refused")), LAST.take().as_str()), (5, "refused"));
    let entry: extern "C" fn(u32) -> u32 = second::border_test_entry;
    assert_eq!(entry(1), 2);
}

#[test]
fn a_function_is_cs_and_returns_a_status() {
    let as_c: extern "C" fn(Items<'_, u32>, u64, Out<'_, u32>) -> i32 = border_test_sum;
    let (numbers, mut sum) = ([1, 2, 3], 0);
    assert_eq!(as_c(Items::from(&numbers[..]), 3, Out::from(&mut sum)), 0);
    assert_eq!(sum, 6);
    assert_eq!(as_c(Items::from(&numbers[..]), 4, Out::from(&mut sum)), 2);
    assert_eq!(LAST.take(), "TooMany { name: \"numbers\", count: 4, most: 3 }");
    assert_eq!(as_c(Items::NULL, 1, Out::from(&mut sum)), 2);
    assert_eq!(LAST.take(), "Null { what: Items(1), name: \"numbers\" }");
    assert_eq!(border_test_plain(Text::from(c"four")), 4);
}

#[test]
fn a_panic_is_an_error() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let status = border_test_panic(Text::from(c"a text"));
    std::panic::set_hook(hook);
    assert_eq!((status, LAST.take().as_str()), (3, "a text"));
    assert_eq!(border_test_panic(Text::NULL), 2);
    assert_eq!(LAST.take(), "Null { what: Text, name: \"text\" }");
}

#[test]
fn a_call_that_is_refused_looks_at_no_argument() {
    IS_REFUSED.set(true);
    assert_eq!(border_test_panic(Text::from(c"not reached")), 4);
    let mut length = 0;
    assert_eq!(border_test_length(Bytes::from(&b"abc"[..]), 3, Out::from(&mut length)), 0);
    assert_eq!(length, 3);
    assert_eq!(opscope_border::value(7, || Ok::<_, Wrong>(8)), 7);
    IS_REFUSED.set(false);
    assert_eq!(opscope_border::value(7, || Ok::<_, Wrong>(8)), 8);
    assert_eq!(<Result<(), Wrong>>::answer(|| Err(Wrong(5, String::new()))), 5);
}
