use opscope::debug::{BreakpointChange, BreakpointId, BreakpointInfo, BreakpointSpec, DebugError, Moment, Target};
use opscope_border::{In, Out, SizedIn, SizedOut, Text, exported, sized};

use super::attachment::opscope_attachment_t;
use super::event::moment;
use crate::border::opscope_status_t::OPSCOPE_ERROR_NOT_FOUND;
use crate::border::{Failure, constant, get};

/// A breakpoint.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_breakpoint_t<'a> {
    /// `sizeof(opscope_breakpoint_t)`.
    pub size: usize,
    /// The operators at which it stops: a name, "type:Conv", "#3" for the operator with that id, a glob such as
    /// "/layer1/*", or "first nan", "first inf", "first nonfinite".
    pub target: Text<'a>,
    /// The condition on the tensors there, such as "absmax(output) > 100"; `docs/debug.md` describes the language.
    /// NULL: it always stops.
    pub condition: Text<'a>,
    /// The number of the only run that it stops. NULL: it stops all.
    pub run: In<'a, u64>,
    /// How many more hits do not stop the run.
    pub ignore: u64,
    /// An `opscope_moment_t`.
    pub moment: u32,
    /// 1 if it stops nothing until it is enabled.
    pub disabled: u32,
    /// 1 if it is removed after the first stop.
    pub one_shot: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_breakpoint_t<'a>, 56);

/// A change of a breakpoint. Fields that are NULL stay unchanged.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_breakpoint_change_t<'a> {
    /// `sizeof(opscope_breakpoint_change_t)`.
    pub size: usize,
    /// The condition; an empty text removes it.
    pub condition: Text<'a>,
    /// How many more hits do not stop the run.
    pub ignore: In<'a, u64>,
    /// 1 if it stops nothing, 0 if it stops runs.
    pub disabled: In<'a, u32>,
    /// 1 if it is removed after the next stop, 0 if it stays.
    pub one_shot: In<'a, u32>,
}
sized!(opscope_breakpoint_change_t<'a>, 40);

/// The state of a breakpoint.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_breakpoint_info_t {
    /// `sizeof(opscope_breakpoint_info_t)`.
    pub size: usize,
    /// How often a run reached it while the condition held, including ignored hits.
    pub hits: u64,
    /// How many more hits do not stop the run.
    pub ignore: u64,
    /// The number of operators at which it stops, in the loaded models.
    pub locations: usize,
    /// `OPSCOPE_BEFORE` or `OPSCOPE_AFTER`.
    pub moment: u32,
    /// 1 if it stops nothing, else 0.
    pub disabled: u32,
    /// 1 if it is removed after the next stop, else 0.
    pub one_shot: u32,
    /// 1 if the last attempt to evaluate the condition failed: then it did not hold. `opscope_attachment_status` says
    /// why.
    pub condition_failed: u32,
}
sized!(opscope_breakpoint_info_t, 48);

/// Sets a breakpoint, and writes its number to `number`.
#[exported]
pub fn opscope_attachment_add_breakpoint(
    attachment: opscope_attachment_t,
    breakpoint: SizedIn<'_, opscope_breakpoint_t<'_>>,
    number: Out<'_, u32>,
) -> Result<(), Failure> {
    let (attachment, number) = (get(attachment)?, number.place("number")?);
    let added = attachment.add_breakpoint(spec(&breakpoint.get()?)?)?;
    number.write(added.id.0);
    Ok(())
}

/// Changes a breakpoint.
#[exported]
pub fn opscope_attachment_change_breakpoint(
    attachment: opscope_attachment_t,
    number: u32,
    change: SizedIn<'_, opscope_breakpoint_change_t<'_>>,
) -> Result<(), Failure> {
    let change = {
        let given = change.get()?;
        BreakpointChange {
            enabled: given.disabled.given().map(|disabled| disabled == 0),
            ignore: given.ignore.given(),
            condition: given.condition.given_str("condition")?.map(str::to_owned),
            one_shot: given.one_shot.given().map(|one_shot| one_shot != 0),
        }
    };
    get(attachment)?.change_breakpoint(BreakpointId(number), change)?;
    Ok(())
}

/// Removes a breakpoint.
#[exported]
pub fn opscope_attachment_remove_breakpoint(attachment: opscope_attachment_t, number: u32) -> Result<(), Failure> {
    Ok(get(attachment)?.remove_breakpoint(BreakpointId(number))?)
}

/// Writes the state of a breakpoint to `info`, whose `size` must be set.
#[exported]
pub fn opscope_attachment_breakpoint(
    attachment: opscope_attachment_t,
    number: u32,
    info: SizedOut<'_, opscope_breakpoint_info_t>,
) -> Result<(), Failure> {
    let all = get(attachment)?.breakpoints()?;
    let found = all.iter().find(|one| one.id.0 == number);
    let found = found.ok_or_else(|| {
        Failure::new(OPSCOPE_ERROR_NOT_FOUND, DebugError::NoSuchBreakpoint(BreakpointId(number)).to_string())
    })?;
    Ok(info.write(&info_for_c(found))?)
}

fn spec(given: &opscope_breakpoint_t<'_>) -> Result<BreakpointSpec, Failure> {
    let moments = [None, Some(Moment::Before), Some(Moment::After)];
    {
        let target = given.target.str("target")?.parse::<Target>().map_err(DebugError::from)?;
        Ok(BreakpointSpec {
            moment: constant(given.moment, "opscope_moment_t", &moments)?,
            condition: given.condition.given_str("condition")?.map(str::to_owned),
            run: given.run.given(),
            enabled: given.disabled == 0,
            ignore: given.ignore,
            one_shot: given.one_shot != 0,
            ..BreakpointSpec::at(target)
        })
    }
}

fn info_for_c(info: &BreakpointInfo) -> opscope_breakpoint_info_t {
    opscope_breakpoint_info_t {
        size: size_of::<opscope_breakpoint_info_t>(),
        hits: info.hits,
        ignore: info.spec.ignore,
        locations: info.locations.len(),
        moment: moment(info.moment) as u32,
        disabled: u32::from(!info.spec.enabled),
        one_shot: u32::from(info.spec.one_shot),
        condition_failed: u32::from(info.condition_error.is_some()),
    }
}
