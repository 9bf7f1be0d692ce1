//! What a dumper captures, and the sink that receives it.

use std::ffi::CString;
use std::str::FromStr;
use std::time::Duration;

use opscope::dump::{
    Answer, Closed, Delivery, Ending, Flow, IoSelection, Pattern, Piece, Policy, Request, Runs, Selection, Sink, Stream,
};
use opscope::model::RunId;
use opscope_border::{Counted, Items, SizedIn, Text, UserData, counted, required, sized};

use super::stream::{OriginForC, opscope_piece_t, opscope_stream_t, piece_for_c};
use crate::border::{Failure, constant, get, slice};
use crate::session::opscope_session_t;

/// What a sink's callback wants to happen next.
#[repr(C)]
pub enum opscope_answer_t {
    /// Send what follows.
    OPSCOPE_CONTINUE = 0,
    /// Send no more of this tensor. It does not count as missing.
    OPSCOPE_SKIP = 1,
    /// Send no more of any tensor. This tensor and the selected ones that follow count as missing.
    OPSCOPE_STOP = 2,
    /// Send the same again, immediately. After 1000 times this counts as a stop.
    OPSCOPE_AGAIN = 3,
}

/// A sink: functions that are called with tensors. They are never called by two threads at once, and one tensor ends
/// before the next begins. They must not throw. Functions that are NULL are not called; `piece` is required.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_sink_t {
    /// `sizeof(opscope_sink_t)`.
    pub size: usize,
    /// Called when a tensor begins. Returns an `opscope_answer_t`.
    pub begin: Option<extern "C" fn(stream: &opscope_stream_t, user: UserData) -> i32>,
    /// Called with the tensor's next piece. Returns an `opscope_answer_t`.
    pub piece: Option<extern "C" fn(stream: &opscope_stream_t, piece: &opscope_piece_t, user: UserData) -> i32>,
    /// Called if the tensor ends without its last piece, with the reason.
    pub broken: Option<extern "C" fn(stream: &opscope_stream_t, reason: Text<'_>, user: UserData)>,
    /// Called when a run has ended and all its tensors were delivered. Returns an `opscope_answer_t`.
    pub run_ended: Option<extern "C" fn(run: u64, user: UserData) -> i32>,
    /// Called at the end. No function of the sink is called afterwards.
    pub closed: Option<extern "C" fn(user: UserData)>,
    /// Passed to the functions.
    pub user: UserData,
}
sized!(opscope_sink_t, 56);

/// A sink that calls back into C.
pub(super) struct CallbackSink {
    functions: opscope_sink_t,
    /// The tensor that began last.
    current: Option<OriginForC>,
}

impl CallbackSink {
    pub fn read(sink: SizedIn<'_, opscope_sink_t>) -> Result<Self, Failure> {
        let functions = sink.get()?;
        required(functions.piece, "piece")?;
        Ok(Self { functions, current: None })
    }
}

impl Sink for CallbackSink {
    fn begin(&mut self, stream: &Stream) -> Answer {
        let origin = self.current.insert(OriginForC::new(&stream.origin));
        let Some(begin) = self.functions.begin else { return Answer::Continue };
        answer(begin(&origin.stream(stream), self.functions.user))
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let origin = self.current.get_or_insert_with(|| OriginForC::new(&stream.origin));
        let Some(call) = self.functions.piece else { return Answer::Continue };
        answer(call(&origin.stream(stream), &piece_for_c(piece), self.functions.user))
    }

    fn broken(&mut self, stream: &Stream, reason: &str) {
        let origin = self.current.get_or_insert_with(|| OriginForC::new(&stream.origin));
        let Some(broken) = self.functions.broken else { return };
        let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
        broken(&origin.stream(stream), Text::from(reason.as_c_str()), self.functions.user)
    }

    fn run_ended(&mut self, run: RunId) -> Answer {
        self.functions.run_ended.map_or(Answer::Continue, |ended| answer(ended(run.0, self.functions.user)))
    }

    fn close(&mut self, _ending: &Ending) -> Closed {
        if let Some(closed) = self.functions.closed {
            closed(self.functions.user)
        }
        Closed::default()
    }
}

fn answer(number: i32) -> Answer {
    match number {
        0 => Answer::Continue,
        1 => Answer::Skip,
        2 => Answer::Stop("the callback asked for it".to_owned()),
        3 => Answer::Again,
        other => Answer::Stop(format!("the callback returned {other}, which is not an opscope_answer_t")),
    }
}

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

/// How pieces reach a sink from the engine.
#[repr(C)]
pub enum opscope_delivery_t {
    /// On the subscription's own thread. Pieces are copied into a queue of bounded size.
    OPSCOPE_QUEUED = 0,
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory; nothing is copied.
    OPSCOPE_DIRECT = 1,
}

/// What happens to a tensor when the queue is full.
#[repr(C)]
pub enum opscope_full_queue_t {
    /// The run waits. If the sink takes nothing for as long as `patience`, the subscription is given up.
    OPSCOPE_BLOCK = 0,
    /// A tensor that does not fit is not delivered. It is counted and named.
    OPSCOPE_DROP = 1,
    /// A tensor that does not fit waits in a file without a name, in `spill_directory`.
    OPSCOPE_SPILL = 2,
}

/// Which tensors are captured, and how they are delivered. All fields zero, or NULL in place of the struct, selects
/// every output of every operator of every run. A pattern is a name, a glob with `*`, `?` or `[`, or a regular
/// expression after "re:".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dump_request_t<'a> {
    /// `sizeof(opscope_dump_request_t)`.
    pub size: usize,
    /// Patterns of operators' names. Without any, all are captured.
    pub operators: Items<'a, Text<'a>>,
    /// The number of `operators`.
    pub operator_count: usize,
    /// Patterns of operators' types. Without any, all are captured.
    pub types: Items<'a, Text<'a>>,
    /// The number of `types`.
    pub type_count: usize,
    /// The runs, such as "0|5-10|20". NULL for all.
    pub runs: Text<'a>,
    /// How many tensors are captured at most. 0: no limit.
    pub first: u64,
    /// How many bytes are captured at most. A tensor that does not fit any more is missing. 0: no limit.
    pub byte_budget: u64,
    /// The model that runs. If it is given, a name that the model does not have is an error. May be 0.
    pub session: opscope_session_t,
    /// The largest size of a piece in bytes. 0 stands for 16 MiB.
    pub piece_size: usize,
    /// How many bytes may wait in the queue. 0 stands for 224 MiB.
    pub queue_size: usize,
    /// Nanoseconds that a run waits for the sink, with `OPSCOPE_BLOCK`. 0 stands for a minute.
    pub patience: u64,
    /// The directory for `OPSCOPE_SPILL`. NULL for the system's directory for temporary files.
    pub spill_directory: Text<'a>,
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
sized!(opscope_dump_request_t<'a>, 128);
counted!(opscope_dump_request_t<'a> {
    operators[operator_count] -> Counted<'a, Text<'a>>,
    types[type_count] -> Counted<'a, Text<'a>>,
});

/// Reads a request, and checks its names if it has a session.
pub(super) fn read_request(request: SizedIn<'_, opscope_dump_request_t<'_>>) -> Result<Request, Failure> {
    let given = request.get_or_default()?;
    let some = |limit: u64| (limit > 0).then_some(limit);
    let io = [IoSelection::Outputs, IoSelection::Inputs, IoSelection::All];
    let selection = Selection {
        operators: patterns(given.operators(), "operators")?,
        op_types: patterns(given.types(), "types")?,
        runs: given.runs.given_str("runs")?.map(Runs::from_str).transpose()?.unwrap_or_default(),
        io: constant(given.io, "opscope_io_selection_t", &io)?,
        first: some(given.first),
        byte_budget: some(given.byte_budget),
        only_non_finite: given.only_non_finite != 0,
        ..Selection::default()
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
        delivery: Some(delivery(&given)?),
        piece_size: if given.piece_size == 0 { Request::DEFAULT_PIECE_SIZE } else { given.piece_size },
        stops_run: given.stops_run != 0,
        ..Request::default()
    })
}

fn delivery(given: &opscope_dump_request_t<'_>) -> Result<Delivery, Failure> {
    let patience = if given.patience == 0 { Flow::DEFAULT_PATIENCE } else { Duration::from_nanos(given.patience) };
    let directory = given.spill_directory.given_path().unwrap_or_else(std::env::temp_dir);
    let policies = [Policy::Block { patience }, Policy::Drop, Policy::Spill { directory }];
    let flow = Flow {
        cap: if given.queue_size == 0 { Flow::DEFAULT_CAP } else { given.queue_size },
        policy: constant(given.when_full, "opscope_full_queue_t", &policies)?,
    };
    constant(given.delivery, "opscope_delivery_t", &[Delivery::Queued(flow), Delivery::Direct])
}

fn patterns(texts: Counted<'_, Text<'_>>, name: &'static str) -> Result<Vec<Pattern>, Failure> {
    let pattern = |text: &Text<'_>| Pattern::parse(text.str(name)?).map_err(wrong);
    slice(texts, name)?.iter().map(pattern).collect()
}

fn wrong(error: impl std::error::Error) -> Failure {
    Failure::argument(error.to_string())
}
