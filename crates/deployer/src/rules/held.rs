//! The cache of the rules that the user holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::PolicyRule;

/// The rules that the user holds, by namespace.
#[derive(Debug, Default)]
pub(crate) struct HeldRules(Mutex<HashMap<String, Arc<[PolicyRule]>>>);

impl HeldRules {
    pub(crate) fn find(&self, namespace: &str) -> Option<Arc<[PolicyRule]>> {
        self.lock().get(namespace).cloned()
    }

    pub(crate) fn keep(&self, namespace: &str, rules: Arc<[PolicyRule]>) {
        self.lock().insert(namespace.to_owned(), rules);
    }

    /// Clears the cache, so that rules granted since are seen.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<[PolicyRule]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
