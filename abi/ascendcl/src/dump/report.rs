//! Counts of what was delivered, for programs that check whether a dump is complete.

use opscope_border::{ArgumentError, SizedOut, exported, sized};

use super::counts::Counts;
use super::queue;
use crate::border::Failure;

/// The counts in the form that a program receives.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_acldump_report {
    pub size: usize,
    pub files: u64,
    pub incomplete_files: u64,
    pub chunks: u64,
    pub bytes: u64,
    pub lost_chunks: u64,
}
sized!(opscope_acldump_report, 48);

/// Waits until everything that runs have dumped so far is delivered, and writes the counts. Inside a callback, does not
/// wait. The program sets `size` to the size of its struct.
#[exported]
pub fn opscope_acldump_get_report(report: SizedOut<'_, opscope_acldump_report>) -> Result<(), Failure> {
    report.check_given("report")?;
    let place = report.place().map_err(|error| match error {
        ArgumentError::WrongSize { size, .. } => {
            Failure::wrong_value("size", size, "set it to sizeof(opscope_acldump_report)")
        }
        error => error.into(),
    })?;
    queue::flush();
    let Counts { files, incomplete_files, chunks, bytes, lost_chunks } = queue::counts();
    let size = size_of::<opscope_acldump_report>();
    place.write(&opscope_acldump_report { size, files, incomplete_files, chunks, bytes, lost_chunks });
    Ok(())
}
