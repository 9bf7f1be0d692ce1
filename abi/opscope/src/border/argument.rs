use opscope_border::Counted;

use super::Failure;

/// How many elements an array from a caller may have. A larger count is refused as garbage.
const MOST_ELEMENTS: usize = 1 << 20;

/// Returns an array that the caller passes.
pub fn slice<'a, T>(items: Counted<'a, T>, name: &'static str) -> Result<&'a [T], Failure> {
    Ok(items.at_most(MOST_ELEMENTS, name)?)
}

/// Checks that there is memory for a copy of this many bytes.
pub fn check_copy(count: usize, name: &str) -> Result<(), Failure> {
    let room = Vec::<u8>::new().try_reserve_exact(count);
    room.map_err(|_| Failure::argument(format!("there is no memory for a copy of {name}, which has {count} bytes")))
}

/// Returns the value of a C constant. `values` has all values in the order of their numbers, from 0.
pub fn constant<T: Clone>(number: u32, name: &str, values: &[T]) -> Result<T, Failure> {
    values.get(number as usize).cloned().ok_or_else(|| {
        Failure::argument(format!("{number} is not a value of {name}; its numbers are 0 to {}", values.len() - 1))
    })
}
