//! What each device did in a run, and why it waited.

use opscope_profile::{DeviceTimes, Share};

use super::{Part, duration, parts_table};
use crate::page::html::Html;

/// Writes a table for each device. The shares are those of all runs, so they make 100 % together.
pub(super) fn devices(html: &mut Html, devices: &[DeviceTimes]) {
    for device in devices {
        let model = if device.model.is_empty() { String::new() } else { format!(" ({})", device.model) };
        html.element("h4", &[], format!("What {}{model} did", device.device));
        let parts: [(&'static str, &Share, &'static str); 6] = [
            ("Kernels compute", &device.busy, "c0"),
            ("Only communication", &device.communication, "c1"),
            ("Only copies", &device.copies, "c3"),
            ("Waits, although the next kernel is launched", &device.gaps, "c4"),
            ("Waits for the host to launch", &device.host_bound, "c6"),
            ("Nothing follows in the run", &device.idle, "c2"),
        ];
        let shown = parts.into_iter().filter(|(_, share, _)| share.total_ns > 0.0);
        parts_table(
            html,
            shown.map(|(name, share, class)| Part { name, nanos: share.median_ns, percent: share.percent, class }),
        );
        if let Some(launch) = device.launch_median_ns {
            let text = format!(
                "From the call that launches a kernel to its beginning it takes {} (median).",
                duration(launch)
            );
            html.element("p", &[("class", "hint")], text);
        }
    }
}
