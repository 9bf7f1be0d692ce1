//! One HTML page from recordings, summaries and dumps, in any mix.
//!
//! The page is one file. It contains its style and its script and loads nothing, and its content security policy allows
//! nothing else. Charts are SVG. It shows aggregates and one run in full, so its size depends on the model and not on
//! the number of runs.
//!
//! ```no_run
//! use opscope_report::Report;
//!
//! let report = Report::read(&["out".into()], &|_| {})?;
//! report.write("report.html".as_ref())?;
//! # Ok::<(), opscope_report::ReportError>(())
//! ```
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `report` | from paths to a page |
//! | `page` | the HTML: one file for each section, the style and the script |
//! | `chart` | the charts: one file for each kind |
//! | `facts` | the content of a page, as plain data: one file for each kind of fact |
//! | `graph` | the drawing of the model: its graph, folded by module |
//! | `source` | what a path contains, and which paths belong together |
//! | `units` | durations and counts in the form that people read |
//! | `error` | why a report cannot be made |

#![forbid(unsafe_code)]

mod chart;
mod error;
mod facts;
mod graph;
mod page;
mod report;
mod source;
mod units;

pub use error::ReportError;
pub use report::Report;
