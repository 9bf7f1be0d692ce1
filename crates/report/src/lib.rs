//! One HTML page from recordings, summaries and dumps, in any mix.
//!
//! The page is one file: its style and its script are inside, it loads nothing, and its content security policy allows nothing
//! else. Charts are SVG. It holds aggregates and one run in full, so its size depends on the model and not on how often it ran.
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
//! Each file or folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `report` | from paths to a page |
//! | `page` | the HTML: one file for each section, the style and the script |
//! | `chart` | the charts: one file for each kind |
//! | `facts` | what a page shows, as plain data: one file for each kind of fact |
//! | `graph` | the model as a picture: its graph, folded by module |
//! | `source` | what a path holds, and which of them belong together |
//! | `units` | durations and counts as a person reads them |
//! | `error` | what can be wrong |

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
