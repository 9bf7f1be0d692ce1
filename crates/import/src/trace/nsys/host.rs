//! What threads of the host called: CUDA's runtime and driver, the libraries on top, and the operating system.

use super::Export;
use super::ids::{Ids, correlation};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, What};

/// The tables of calls. Each has a name by its number.
const CALLS: [&str; 7] = [
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_DRIVER",
    "CUDNN_EVENTS",
    "CUBLAS_EVENTS",
    "OSRT_API",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_P2P_EVENTS",
];

impl Export<'_> {
    pub(super) fn host(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        for table in CALLS {
            let columns = ["globalTid", "correlationId", "nameId"];
            self.spans(table, &columns, into, |ids, span, into| {
                let name = ids.text(span.int(2));
                let name = name.as_deref().map_or("call without a name", without_version);
                let global = span.int(0);
                // Other tables count their own calls by this column.
                let number = if table.starts_with("CUPTI") { span.count(1) } else { 0 };
                let what = if table.starts_with("CUPTI") { What::Call } else { What::Range };
                let track = Ids::thread(into, global);
                into.add(&Event {
                    what,
                    name,
                    track,
                    start: span.start,
                    duration: span.duration,
                    correlation: correlation(global, number),
                    external: 0,
                    op: "",
                    inputs: "",
                })
            })?;
        }
        Ok(())
    }
}

/// Returns the name of a call as a program writes it: CUPTI appends the version of CUDA in which its arguments last
/// changed, and whether it is meant for the default stream of the thread.
fn without_version(name: &str) -> &str {
    let name = match name.rsplit_once("_v") {
        // Four digits or more: `cudaLaunchKernel_v7000`. The driver's `cuMemAlloc_v2` is a name of its own.
        Some((plain, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    };
    name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::without_version;

    #[test]
    fn versions_of_the_runtime_are_left_out_and_those_of_the_driver_stay() {
        assert_eq!(without_version("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(without_version("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
        assert_eq!(without_version("cuMemAlloc_v2"), "cuMemAlloc_v2");
        assert_eq!(without_version("my_very"), "my_very");
        assert_eq!(without_version(""), "");
    }
}
