//! The plans that users leave for a second person ([`Proposal`]). Nothing of a proposal is applied: the second person plans
//! the same change again, and applies the new plan.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemas::StatementTime;

use crate::plans::StoredPlan;
use crate::problem::Problem;
use crate::secret;
use crate::user::UserId;

/// The time for which a proposal is stored.
const LIFETIME: Duration = Duration::from_hours(24);
/// The largest number of proposals. A further one replaces the oldest.
const MOST: usize = 100;

/// A plan that a user has left for a second person.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) id: String,
    /// The name of the user.
    pub(crate) by: String,
    pub(crate) owner: UserId,
    pub(crate) at: Option<StatementTime>,
    pub(crate) plan: Arc<StoredPlan>,
    made: Instant,
}

/// The proposals of all users.
#[derive(Debug, Default)]
pub(crate) struct Proposals(Mutex<VecDeque<Arc<Proposal>>>);

impl Proposals {
    /// Stores a proposal, and returns its id, which cannot be guessed.
    pub(crate) fn add(
        &self,
        by: String,
        owner: UserId,
        at: Option<StatementTime>,
        plan: Arc<StoredPlan>,
    ) -> Result<String, Problem> {
        let id = secret::random().map_err(Problem::internal)?;
        let mut proposals = self.stored();
        if proposals.len() >= MOST {
            proposals.pop_front();
        }
        proposals.push_back(Arc::new(Proposal {
            id: id.clone(),
            by,
            owner,
            at,
            plan,
            made: Instant::now(),
        }));
        Ok(id)
    }

    /// Returns a proposal.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Proposal>> {
        let found = self
            .stored()
            .iter()
            .find(|proposal| proposal.id == id)
            .cloned();
        found.filter(|proposal| proposal.made.elapsed() < LIFETIME)
    }

    fn stored(&self) -> MutexGuard<'_, VecDeque<Arc<Proposal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
