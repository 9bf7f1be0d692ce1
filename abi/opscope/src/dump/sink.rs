use std::ffi::{CString, c_char, c_void};

use opscope::dump::{Answer, Closed, Ending, Piece, Sink, Stream};
use opscope::model::RunId;

use super::stream::{OriginForC, opscope_piece_t, opscope_stream_t, piece_for_c};
use crate::border::{Failure, UserData, read, required, sized};

/// What a callback of a sink wants to happen next.
#[repr(C)]
pub enum opscope_answer_t {
    /// Send what follows.
    OPSCOPE_CONTINUE = 0,
    /// Send no more of this tensor. It does not count as missing.
    OPSCOPE_SKIP = 1,
    /// Send no more of any tensor. Those that were selected count as missing from here on, with this one.
    OPSCOPE_STOP = 2,
    /// Send the same again, at once. After 1000 times this counts as a stop.
    OPSCOPE_AGAIN = 3,
}

/// A sink: functions that are called with tensors. They are never called by two threads at once, and one tensor ends before
/// the next begins. They must not throw. Those that are NULL are not called; `piece` must be there.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_sink_t {
    /// `sizeof(opscope_sink_t)`.
    pub size: usize,
    /// A tensor begins. Returns an `opscope_answer_t`.
    pub begin: Option<unsafe extern "C" fn(stream: *const opscope_stream_t, user: *mut c_void) -> i32>,
    /// The next piece of it. Returns an `opscope_answer_t`.
    pub piece: Option<
        unsafe extern "C" fn(stream: *const opscope_stream_t, piece: *const opscope_piece_t, user: *mut c_void) -> i32,
    >,
    /// The tensor ends without its last piece, for this reason.
    pub broken: Option<unsafe extern "C" fn(stream: *const opscope_stream_t, reason: *const c_char, user: *mut c_void)>,
    /// A run has ended, and all its tensors were delivered. Returns an `opscope_answer_t`.
    pub run_ended: Option<unsafe extern "C" fn(run: u64, user: *mut c_void) -> i32>,
    /// The last call: no function of the sink is called afterwards.
    pub closed: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// Handed to the functions.
    pub user: *mut c_void,
}
sized!(opscope_sink_t, 56);

/// A sink that calls back into C.
pub(super) struct CallbackSink {
    functions: opscope_sink_t,
    user: UserData,
    /// The tensor that began last.
    current: Option<OriginForC>,
}

// SAFETY: the only pointer in the functions is the user's, which opscope does not read (see `UserData`).
unsafe impl Send for CallbackSink {}

impl CallbackSink {
    pub unsafe fn read(sink: *const opscope_sink_t) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let functions = unsafe { read(sink)? };
        required(functions.piece)?;
        Ok(Self { functions, user: UserData(functions.user), current: None })
    }
}

impl Sink for CallbackSink {
    fn begin(&mut self, stream: &Stream) -> Answer {
        let origin = self.current.insert(OriginForC::new(&stream.origin));
        let Some(begin) = self.functions.begin else { return Answer::Continue };
        // SAFETY: the program promises that the function takes these arguments until it is closed.
        answer(unsafe { begin(&origin.stream(stream), self.user.pointer()) })
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let origin = self.current.get_or_insert_with(|| OriginForC::new(&stream.origin));
        let Some(call) = self.functions.piece else { return Answer::Continue };
        // SAFETY: as above.
        answer(unsafe { call(&origin.stream(stream), &piece_for_c(piece), self.user.pointer()) })
    }

    fn broken(&mut self, stream: &Stream, reason: &str) {
        let origin = self.current.get_or_insert_with(|| OriginForC::new(&stream.origin));
        let Some(broken) = self.functions.broken else { return };
        let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
        // SAFETY: as above.
        unsafe { broken(&origin.stream(stream), reason.as_ptr(), self.user.pointer()) }
    }

    fn run_ended(&mut self, run: RunId) -> Answer {
        // SAFETY: as above.
        self.functions.run_ended.map_or(Answer::Continue, |ended| answer(unsafe { ended(run.0, self.user.pointer()) }))
    }

    fn close(&mut self, _ending: &Ending) -> Closed {
        if let Some(closed) = self.functions.closed {
            // SAFETY: as above.
            unsafe { closed(self.user.pointer()) }
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
        other => Answer::Stop(format!("the callback returned {other}, which is no opscope_answer_t")),
    }
}
