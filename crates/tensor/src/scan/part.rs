/// The result for some of the elements.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    pub nan: u64,
    pub infinite: u64,
    pub zeros: u64,
    /// This and the following fields count only the finite elements.
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub absmax: Option<f64>,
}

impl Part {
    pub fn join(&mut self, other: Part) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zeros += other.zeros;
        if let Some(min) = other.min {
            self.add_min(min);
        }
        if let Some(max) = other.max {
            self.add_max(max);
        }
        if let Some(absmax) = other.absmax {
            self.add_absmax(absmax);
        }
    }

    pub fn add_min(&mut self, value: f64) {
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
    }

    pub fn add_max(&mut self, value: f64) {
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    pub fn add_absmax(&mut self, value: f64) {
        self.absmax = Some(self.absmax.map_or(value, |absmax| absmax.max(value)));
    }
}
