//! Tables of recordings and dumps as Parquet files, for pandas, DuckDB, Polars, DataFusion, Spark and others.
//!
//! [`export_recording`] writes the tables of a recording, [`export_dump`] the statistics of a dump's tensors.
//! [`TableSet`] is a directory with the tables of many recordings, partitioned by date, model and host: any number of
//! processes append to it. `docs/tables.md` describes every table and column.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `set` | the directory with the tables of many recordings |
//! | `export` | the tables of one recording or dump as files |
//! | `recording` | a pass over the records of a recording, into every table |
//! | `kernels` | the kernels of a recording, with their times |
//! | `rows` | the tables: their rows and columns |
//! | `table` | a table as a Parquet file: columns, dictionaries, row groups |
//! | `error` | what can fail |

#![forbid(unsafe_code)]

mod error;
mod export;
mod kernels;
mod recording;
mod rows;
mod set;
mod table;

pub use error::TablesError;
pub use export::{export_dump, export_recording};
pub use recording::recording_id;
pub use set::{Appended, TableSet};
