//! The sessions of browsers. A session is a random id in a cookie that scripts cannot read; the console stores only its
//! digest.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::secret;

/// The time after which a session without requests ends.
const IDLE: Duration = Duration::from_mins(30);
/// The time after which every session ends.
const LONGEST: Duration = Duration::from_hours(12);
/// The largest number of sessions. A further one ends the session that was idle for the longest time.
const MOST: usize = 64;

/// The sessions of a console.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Times>>);

#[derive(Clone, Copy, Debug)]
struct Times {
    begun: Instant,
    used: Instant,
}

impl Times {
    fn is_over(self, now: Instant) -> bool {
        now.duration_since(self.used) > IDLE || now.duration_since(self.begun) > LONGEST
    }
}

impl Sessions {
    /// Begins a session, and returns its id.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub(crate) fn begin(&self, now: Instant) -> Result<String, getrandom::Error> {
        let id = secret::random()?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, times| !times.is_over(now));
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, times)| times.used);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                sessions.remove(&oldest);
            }
        }
        let (begun, used) = (now, now);
        sessions.insert(secret::digest(&id), Times { begun, used });
        Ok(id)
    }

    /// Returns true if the session exists and has not ended. The request counts as use of the session.
    pub(crate) fn is_open(&self, id: &str, now: Instant) -> bool {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = sessions.get_mut(&secret::digest(id));
        let Some(times) = times.filter(|times| !times.is_over(now)) else {
            return false;
        };
        times.used = now;
        true
    }

    /// Returns true if the session exists and has not ended. This does not count as use of the session.
    pub(crate) fn is_known(&self, id: &str, now: Instant) -> bool {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = sessions.get(&secret::digest(id));
        times.is_some_and(|times| !times.is_over(now))
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&secret::digest(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_it_is_idle_and_after_half_a_day() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let id = sessions.begin(begun).unwrap();
        assert!(!sessions.is_open("other", begun));
        let mut now = begun;
        while now + IDLE < begun + LONGEST {
            now += IDLE;
            assert!(sessions.is_open(&id, now));
        }
        assert!(!sessions.is_open(&id, begun + LONGEST + Duration::from_secs(1)));
        let idle = sessions.begin(begun).unwrap();
        assert!(!sessions.is_open(&idle, begun + IDLE + Duration::from_secs(1)));
        let ended = sessions.begin(begun).unwrap();
        sessions.end(&ended);
        assert!(!sessions.is_open(&ended, begun));
    }

    #[test]
    fn the_longest_idle_session_makes_room_for_a_new_one() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let at = |second| begun + Duration::from_secs(second);
        let ids: Vec<_> = (0..MOST as u64)
            .map(|second| sessions.begin(at(second)).unwrap())
            .collect();
        assert!(sessions.is_open(&ids[0], at(100)));
        let last = sessions.begin(at(101)).unwrap();
        let open = |id: &String| sessions.is_open(id, at(102));
        assert!(open(&ids[0]) && !open(&ids[1]) && open(&ids[2]) && open(&last));
    }
}
