use serde::{Deserialize, Serialize};

use super::{Done, Perform, Reply, check_pattern};
use crate::breakpoint::{BreakpointChange, BreakpointInfo, BreakpointSpec};
use crate::error::{DebugError, Refusal};
use crate::event::BreakpointId;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::session::Attachment;

/// See [`Attachment::change_breakpoint`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChangeBreakpointRequest {
    /// The breakpoint.
    pub breakpoint: BreakpointId,
    /// What changes.
    #[serde(flatten)]
    pub change: BreakpointChange,
}

/// See [`Attachment::remove_breakpoint`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveBreakpointRequest {
    /// The breakpoint.
    pub breakpoint: BreakpointId,
}

/// See [`Attachment::breakpoints`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BreakpointsRequest {}

/// The answer to `breakpoints`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointList {
    /// The breakpoints.
    pub breakpoints: Vec<BreakpointInfo>,
}

impl Request for BreakpointSpec {
    const NAME: &'static str = "add_breakpoint";
    const PURPOSE: &'static str = "sets a breakpoint";
    type Answer = BreakpointInfo;
}

impl Perform for BreakpointSpec {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<BreakpointInfo>, Refusal> {
        check_pattern(&self.target.to_string())?;
        Ok(Reply::of(&attachment.add_breakpoint(self)?))
    }
}

impl Request for ChangeBreakpointRequest {
    const NAME: &'static str = "change_breakpoint";
    const PURPOSE: &'static str = "changes a breakpoint";
    type Answer = BreakpointInfo;
}

impl Perform for ChangeBreakpointRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<BreakpointInfo>, Refusal> {
        Ok(Reply::of(&attachment.change_breakpoint(self.breakpoint, self.change)?))
    }
}

impl Request for RemoveBreakpointRequest {
    const NAME: &'static str = "remove_breakpoint";
    const PURPOSE: &'static str = "removes a breakpoint";
    type Answer = Done;
}

impl Perform for RemoveBreakpointRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Done>, Refusal> {
        attachment.remove_breakpoint(self.breakpoint)?;
        Ok(Reply::done())
    }
}

impl Request for BreakpointsRequest {
    const NAME: &'static str = "breakpoints";
    const PURPOSE: &'static str = "lists the breakpoints";
    type Answer = BreakpointList;
}

impl Perform for BreakpointsRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<BreakpointList>, Refusal> {
        Ok(Reply::of(&BreakpointList { breakpoints: attachment.breakpoints()? }))
    }
}

/// All errors are those of the same call of an [`Attachment`], or those of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Attachment::add_breakpoint`].
    pub fn add_breakpoint(&self, spec: BreakpointSpec) -> Result<BreakpointInfo, DebugError> {
        self.ask(&spec)
    }

    /// See [`Attachment::change_breakpoint`].
    pub fn change_breakpoint(
        &self,
        breakpoint: BreakpointId,
        change: BreakpointChange,
    ) -> Result<BreakpointInfo, DebugError> {
        self.ask(&ChangeBreakpointRequest { breakpoint, change })
    }

    /// See [`Attachment::remove_breakpoint`].
    pub fn remove_breakpoint(&self, breakpoint: BreakpointId) -> Result<(), DebugError> {
        self.ask(&RemoveBreakpointRequest { breakpoint }).map(drop)
    }

    /// See [`Attachment::breakpoints`].
    pub fn breakpoints(&self) -> Result<Vec<BreakpointInfo>, DebugError> {
        Ok(self.ask(&BreakpointsRequest {})?.breakpoints)
    }
}
