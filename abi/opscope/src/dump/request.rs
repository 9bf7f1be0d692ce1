use std::ffi::c_char;
use std::str::FromStr;
use std::time::Duration;

use opscope::dump::{Delivery, Flow, IoSelection, Pattern, Policy, Request, Runs, Selection};

use crate::border::{
    Failure, constant, get, read_optional_path, read_optional_text, read_or_default, read_text, sized, slice,
};
use crate::session::opscope_session_t;

/// The sides of operators that are captured.
#[repr(C)]
pub enum opscope_io_selection_t {
    /// Their outputs.
    OPSCOPE_OUTPUTS = 0,
    /// Their inputs.
    OPSCOPE_INPUTS = 1,
    /// Both.
    OPSCOPE_INPUTS_AND_OUTPUTS = 2,
}

/// How pieces get from the engine to a sink.
#[repr(C)]
pub enum opscope_delivery_t {
    /// On a thread of the subscription's own. Pieces are copied into a queue of bounded size.
    OPSCOPE_QUEUED = 0,
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory; nothing is copied.
    OPSCOPE_DIRECT = 1,
}

/// What happens to a tensor when the queue is full.
#[repr(C)]
pub enum opscope_full_queue_t {
    /// The run waits. If the sink takes nothing for so long as `patience`, the subscription is given up.
    OPSCOPE_BLOCK = 0,
    /// A tensor that does not fit is not delivered. It is counted and named.
    OPSCOPE_DROP = 1,
    /// What does not fit waits in a file without a name, in `spill_directory`.
    OPSCOPE_SPILL = 2,
}

/// Which tensors are captured, and how they are delivered. All zero is every output of every operator of every run, and so is
/// NULL in its place. A pattern is a name, a glob with `*`, `?` or `[`, or a regular expression behind "re:".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dump_request_t {
    /// `sizeof(opscope_dump_request_t)`.
    pub size: usize,
    /// Patterns of operators' names. Without any, all are captured.
    pub operators: *const *const c_char,
    /// The number of `operators`.
    pub operator_count: usize,
    /// Patterns of operators' types. Without any, all are captured.
    pub types: *const *const c_char,
    /// The number of `types`.
    pub type_count: usize,
    /// The runs, such as "0|5-10|20". NULL for all.
    pub runs: *const c_char,
    /// The most tensors. 0: no limit.
    pub first: u64,
    /// The most bytes. A tensor that does not fit any more is missing. 0: no limit.
    pub byte_budget: u64,
    /// The model that runs. Where it is given, a name that it does not have is an error. May be 0.
    pub session: opscope_session_t,
    /// The most bytes of a piece. 0 stands for 16 MiB.
    pub piece_size: usize,
    /// The most bytes that wait in the queue. 0 stands for 256 MiB.
    pub queue_size: usize,
    /// Nanoseconds that a run waits for the sink, with `OPSCOPE_BLOCK`. 0 stands for a minute.
    pub patience: u64,
    /// The directory for `OPSCOPE_SPILL`. NULL for the system's directory for temporary files.
    pub spill_directory: *const c_char,
    /// An `opscope_io_selection_t`.
    pub io: u32,
    /// An `opscope_delivery_t`.
    pub delivery: u32,
    /// An `opscope_full_queue_t`.
    pub when_full: u32,
    /// 1 to capture only tensors with a NaN or an infinite element.
    pub only_non_finite: u32,
    /// 1 if a sink that stops also stops the run.
    pub stops_run: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_dump_request_t, 128);

/// Reads a request, and checks its names where it has a session.
pub(super) unsafe fn read_request(request: *const opscope_dump_request_t) -> Result<Request, Failure> {
    // SAFETY: as the caller promises.
    let given = unsafe { read_or_default(request)? };
    let some = |limit: u64| (limit > 0).then_some(limit);
    let io = [IoSelection::Outputs, IoSelection::Inputs, IoSelection::All];
    // SAFETY: as the caller promises.
    let selection = unsafe {
        Selection {
            operators: patterns(given.operators, given.operator_count, "operators")?,
            op_types: patterns(given.types, given.type_count, "types")?,
            runs: read_optional_text(given.runs, "runs")?.map(Runs::from_str).transpose()?.unwrap_or_default(),
            io: constant(given.io, "opscope_io_selection_t", &io)?,
            first: some(given.first),
            byte_budget: some(given.byte_budget),
            only_non_finite: given.only_non_finite != 0,
            ..Selection::default()
        }
    };
    if given.session.id != 0 {
        let loaded = get(given.session)?;
        selection.check(loaded.session.graph(), u64::MAX).map_err(|errors| {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let first = errors.into_iter().next().map(Failure::from);
            Failure { text: texts.join("; "), ..first.unwrap_or_else(|| Failure::argument("")) }
        })?;
    }
    Ok(Request {
        selection,
        // SAFETY: as the caller promises.
        delivery: Some(unsafe { delivery(&given)? }),
        piece_size: if given.piece_size == 0 { Request::DEFAULT_PIECE_SIZE } else { given.piece_size },
        stops_run: given.stops_run != 0,
        ..Request::default()
    })
}

unsafe fn delivery(given: &opscope_dump_request_t) -> Result<Delivery, Failure> {
    let patience = if given.patience == 0 { Flow::DEFAULT_PATIENCE } else { Duration::from_nanos(given.patience) };
    // SAFETY: as the caller promises.
    let directory = unsafe { read_optional_path(given.spill_directory) }.unwrap_or_else(std::env::temp_dir);
    let policies = [Policy::Block { patience }, Policy::Drop, Policy::Spill { directory }];
    let flow = Flow {
        cap: if given.queue_size == 0 { Flow::DEFAULT_CAP } else { given.queue_size },
        policy: constant(given.when_full, "opscope_full_queue_t", &policies)?,
    };
    constant(given.delivery, "opscope_delivery_t", &[Delivery::Queued(flow), Delivery::Direct])
}

unsafe fn patterns(texts: *const *const c_char, count: usize, name: &str) -> Result<Vec<Pattern>, Failure> {
    // SAFETY: as the caller promises.
    let texts = unsafe { slice(texts, count, name)? };
    // SAFETY: as the caller promises.
    let pattern = |text: &*const c_char| Pattern::parse(unsafe { read_text(*text, name)? }).map_err(wrong);
    texts.iter().map(pattern).collect()
}

fn wrong(error: impl std::error::Error) -> Failure {
    Failure::argument(error.to_string())
}
