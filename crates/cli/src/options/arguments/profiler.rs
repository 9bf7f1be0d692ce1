use opscope::profile::{ProfilerOptions, SwitchEffect, TimelineRuns};
use opscope::trace::{Bytes, Policy};

use crate::options::refusal::{Notes, Refusal};
use crate::options::values::{Budget, budget, one_of, size};

/// What a profile records, and the memory for it, as it stands on the command line.
#[derive(Debug, Clone, Default, clap::Args)]
#[allow(missing_docs)]
pub struct ProfilerArguments {
    /// What is recorded: model-execution, task-time, runtime-api, sys-hardware-mem [default: on]; task-memory,
    /// sys-cpu-profiling, sys-profiling, sys-pid-profiling [default: off]
    #[arg(long, value_name = "KEY=on|off", help_heading = super::INSTRUMENTS)]
    pub profiler_option: Vec<String>,
    /// The memory for records [default: 8M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = super::INSTRUMENTS)]
    pub profiler_size: Option<Bytes>,
    /// How much of it fills before it is written [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = super::INSTRUMENTS)]
    pub profiler_watermark: Option<Bytes>,
    /// What happens to a record when it is full: lossless, it waits; discard, it is dropped and counted; overwrite, the
    /// oldest records are dropped and counted [default: lossless]
    #[arg(long, value_parser = one_of(POLICIES, policy_name), ignore_case = true, value_name = "POLICY")]
    #[arg(help_heading = super::INSTRUMENTS)]
    pub profiler_policy: Option<Policy>,
    /// The size at which the recording ends while the runs continue: 512M, 2G, or none for no limit [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = budget, help_heading = super::INSTRUMENTS)]
    pub profile_budget: Option<Budget>,
    /// How many runs timelines and op_summary.csv show: the first, the slowest, and those nearest to the median; or all
    /// [default: as many as fit into some ten megabytes]
    #[arg(long, value_name = "N|all", help_heading = super::INSTRUMENTS)]
    pub timeline_runs: Option<TimelineRuns>,
}

const POLICIES: [Policy; 3] = [Policy::Lossless, Policy::Discard, Policy::Overwrite];

fn policy_name(policy: &Policy) -> &'static str {
    match policy {
        Policy::Lossless => "lossless",
        Policy::Discard => "discard",
        Policy::Overwrite => "overwrite",
    }
}

impl ProfilerArguments {
    /// Returns the first option that was given, for a command line without `--profiler`.
    pub(in crate::options) fn first_given(&self) -> Option<&'static str> {
        [
            ("--profiler-option", !self.profiler_option.is_empty()),
            ("--profiler-size", self.profiler_size.is_some()),
            ("--profiler-watermark", self.profiler_watermark.is_some()),
            ("--profiler-policy", self.profiler_policy.is_some()),
            ("--profile-budget", self.profile_budget.is_some()),
            ("--timeline-runs", self.timeline_runs.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Returns the options of a profile, with the profiler's defaults for those that were not given.
    pub(in crate::options) fn options(&self, notes: &mut Notes) -> Result<ProfilerOptions, Refusal> {
        let mut options = self.memory()?;
        for setting in &self.profiler_option {
            match options.switches.apply(setting) {
                Ok(SwitchEffect::Applied) => {}
                Ok(SwitchEffect::NoSuchUnit) => notes.note(format!("--profiler-option {setting}"), "no such unit here"),
                Err(error) => return Err(Refusal::unreadable("--profiler-option", error)),
            }
        }
        Ok(options)
    }

    /// Returns the options of a profile whose switches are set elsewhere.
    pub(in crate::options) fn memory(&self) -> Result<ProfilerOptions, Refusal> {
        let (size, watermark) = (self.profiler_size, self.profiler_watermark);
        if let Some((size, watermark)) = size.zip(watermark).filter(|(size, watermark)| watermark > size) {
            let what = format!("{watermark} are more than the {size} of --profiler-size");
            return Err(Refusal::Value { option: "--profiler-watermark", what, right: "write a smaller size" });
        }
        let mut options = ProfilerOptions::default();
        options.buffer_size = size.unwrap_or(options.buffer_size);
        options.watermark = watermark.unwrap_or(options.watermark.min(options.buffer_size));
        options.when_full = self.profiler_policy.unwrap_or(options.when_full);
        options.budget = self.profile_budget.map_or(options.budget, |Budget(budget)| budget);
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn the_help_names_the_defaults_of_the_profiler() {
        let ProfilerOptions { buffer_size, watermark, when_full, budget, .. } = ProfilerOptions::default();
        let mebibytes = |bytes: Bytes| format!("{}M", bytes.get() >> 20);
        let gibibytes = |bytes: Bytes| format!("{}G", bytes.get() >> 30);
        let command = ProfilerArguments::augment_args(clap::Command::new("profile"));
        for (option, default) in [
            ("profiler-size", mebibytes(buffer_size)),
            ("profiler-watermark", mebibytes(watermark)),
            ("profiler-policy", policy_name(&when_full).to_owned()),
            ("profile-budget", budget.map_or("none".to_owned(), gibibytes)),
        ] {
            let option = command.get_arguments().find(|known| known.get_long() == Some(option)).expect("an option");
            let help = option.get_help().expect("a help").to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{help}");
        }
    }
}
