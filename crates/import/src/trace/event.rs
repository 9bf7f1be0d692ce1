//! What every reader of a trace hands over: events on tracks.

/// A thread of the host, or a stream of a device, by its number in the assembler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Track(pub u32);

/// An event of a trace. All times are in nanoseconds; zero is the trace's own, the same for all of its events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event<'a> {
    pub what: What,
    pub name: &'a str,
    pub track: Track,
    pub start: u64,
    pub duration: u64,
    /// What ties a device's work to the call that launched it; 0 if nothing does.
    pub correlation: u64,
    /// What ties a call to the operator that made it, where the call is not nested in it; 0 if nothing does.
    pub external: u64,
    /// The type of an operator, or what a module is called in paths, where that is not its name; otherwise empty.
    pub op: &'a str,
    /// The types and shapes of an operator's inputs, as text: `float[2, 3], float[3]`. Empty if the trace has none.
    pub inputs: &'a str,
}

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum What {
    /// An operator of a framework, on the host.
    Operator,
    /// A module, such as a `torch.nn.Module`, around its operators.
    Module,
    /// A range of the user's code, such as an NVTX range.
    Range,
    /// A function of the program.
    Function,
    /// A moment. Its duration is 0.
    Mark,
    /// A call of a runtime or driver. What it launches has its correlation.
    Call,
    /// A kernel on a device.
    Kernel,
    /// A copy of memory, or setting it, on a device.
    Copy,
    /// A range on a device's stream that the trace made of a range on the host.
    DeviceRange,
}

impl<'a> Event<'a> {
    /// Returns an event that nothing is tied to.
    pub(crate) fn new(what: What, name: &'a str, track: Track, start: u64, duration: u64) -> Self {
        Self { what, name, track, start, duration, correlation: 0, external: 0, op: "", inputs: "" }
    }
}

impl What {
    /// Returns whether a device did this.
    pub(crate) fn is_device_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy)
    }
}
