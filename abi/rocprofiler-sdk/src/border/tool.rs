use super::exception::catch;
use super::say;

/// Calls a tool's function. An exception that it throws ends here: it is reported, and the result is `None`. `what` is what the
/// message calls the function.
pub fn call_tool<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    let mut result = None;
    if let Err(exception) = catch(|| result = Some(function())) {
        say(format_args!("{what} of a tool threw {exception}, which is ignored"));
    }
    result
}
