//! Text for people: names from elsewhere made safe to show, sizes, cells of tables for spreadsheets, and tables for a
//! terminal.

#![forbid(unsafe_code)]

mod cell;
mod shown;
mod table;

pub use cell::cell_text;
pub use shown::{shown_duration, shown_size, shown_text};
pub use table::{Column, TextTable};
