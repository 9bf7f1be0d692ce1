use std::ffi::CString;

use opscope::dump::{Answer, Closed, Ending, Piece, Sink, Stream};
use opscope::model::RunId;
use opscope_border::{SizedIn, Text, UserData, required, sized};

use super::stream::{OriginForC, opscope_piece_t, opscope_stream_t, piece_for_c};
use crate::border::Failure;

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
