//! The plans of a model that exist so far.

use std::collections::VecDeque;
use std::sync::Arc;

use opscope_model::EngineError;
use opscope_sys::Mutex;
use opscope_tensor::Tensor;

/// How many plans are kept.
const MOST_PLANS: usize = 64;

/// Plans by the shapes that they were made for, the oldest first.
pub(super) struct PlanCache<P>(Mutex<VecDeque<(Shapes, Arc<P>)>>);

/// The shapes of a plan's inputs.
type Shapes = Vec<Vec<usize>>;

impl<P> Default for PlanCache<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> PlanCache<P> {
    /// Returns the plan for inputs of these shapes. Threads that need the same plan wait until it is made.
    pub fn find_or_make(
        &self,
        inputs: &[Tensor],
        make: impl FnOnce() -> Result<P, EngineError>,
    ) -> Result<Arc<P>, EngineError> {
        let mut made = self.0.lock();
        let fits = |shapes: &[Vec<usize>]| shapes.iter().map(Vec::as_slice).eq(inputs.iter().map(Tensor::shape));
        if let Some((_, plan)) = made.iter().rev().find(|(shapes, _)| fits(shapes)) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(make()?);
        if made.len() == MOST_PLANS {
            made.pop_front();
        }
        made.push_back((inputs.iter().map(|input| input.shape().to_vec()).collect(), Arc::clone(&plan)));
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_made_once_for_its_shapes_and_the_oldest_is_forgotten() {
        let made = PlanCache::default();
        let input = |size: usize| [Tensor::from_f32(vec![size], &vec![0.0; size]).expect("as many as it has")];
        let plan = |size| made.find_or_make(&input(size), || Ok(size)).expect("it is made");
        let first = plan(1);
        assert!(Arc::ptr_eq(&first, &plan(1)));
        (2..MOST_PLANS + 2).for_each(|size| assert_eq!(*plan(size), size));
        assert!(!Arc::ptr_eq(&first, &plan(1)), "it was the oldest");
        let failed: Result<Arc<usize>, _> = made.find_or_make(&input(0), || Err(EngineError::Stopped("no".to_owned())));
        assert!(failed.is_err());
        assert_eq!(*plan(0), 0, "an error is not kept");
    }
}
