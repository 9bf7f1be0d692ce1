//! Messages for numbers that an option does not accept.

use std::any::TypeId;
use std::num::{NonZeroU64, NonZeroUsize};

use clap::Command;

/// Returns why an option of a command does not accept a value as its number, and what it accepts. `None` if the option
/// takes no number.
pub fn refusal(option: &str, value: &str, command: &Command) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let has_name = |argument: &&clap::Arg| {
        argument.get_long() == Some(name) || argument.get_all_aliases().is_some_and(|names| names.contains(&name))
    };
    let parser = command.get_arguments().find(has_name)?.get_value_parser().type_id();
    let is_one_of = |types: &[TypeId]| types.iter().any(|one| parser == *one);
    let is_positive = is_one_of(&[TypeId::of::<NonZeroU64>(), TypeId::of::<NonZeroUsize>()]);
    if !is_positive && !is_one_of(&[TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<u16>()]) {
        return None;
    }
    let is_large =
        !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit()) && value.contains(|c| c != '0');
    Some(match (is_large, is_positive) {
        (true, _) => format!("{option}: {value} is too large"),
        (false, true) => format!("{option}: '{value}' is not a number that it takes; write 1 or more"),
        (false, false) => format!("{option}: '{value}' is not a number that it takes; write 0 or more"),
    })
}
