//! Text for people: untrusted names in a safe form, sizes and other numbers, cells of tables for spreadsheets, words of
//! commands for a shell, tables and bars for a terminal, and suggestions for misspelt words.

#![forbid(unsafe_code)]

mod bar;
mod display;
mod figures;
mod shell;
mod spelling;
mod table;
mod wrap;

pub use bar::BarStyle;
pub use display::{cell_text, common_path, shown_duration, shown_size, shown_text};
pub use figures::{TimeScale, counted, grouped, shown_number, shown_time};
pub use shell::{file_text, shell_path, shell_word};
pub use spelling::did_you_mean;
pub use table::{Column, TextTable, display_width, shortened};
pub use wrap::{wrapped, wrapped_within};
