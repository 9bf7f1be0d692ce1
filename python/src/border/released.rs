//! Waiting without the interpreter.

use pyo3::Python;

/// A function that is called on the thread that has it.
struct OnThisThread<'f>(&'f mut dyn FnMut());

// SAFETY: `detach` calls the function on the same thread, so it is not sent anywhere.
unsafe impl Send for OnThisThread<'_> {}

impl OnThisThread<'_> {
    fn call(self) {
        (self.0)();
    }
}

/// Calls a function while other threads may use the interpreter. The function must not touch objects of Python's, which
/// it may only borrow the memory of.
pub fn released(call: &mut dyn FnMut()) {
    let call = OnThisThread(call);
    Python::attach(|py| py.detach(|| call.call()));
}
