//! The sessions of browsers. A session is a random id in a cookie that scripts cannot read; the console stores only its
//! digest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::secret;
use crate::user::User;

/// The time after which a session without requests ends.
const IDLE: Duration = Duration::from_mins(30);
/// The time after which every session ends.
const LONGEST: Duration = Duration::from_hours(12);
/// The largest number of sessions. A further one ends the session that was idle for the longest time.
const MOST: usize = 1000;

/// The sessions of a console.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

#[derive(Debug)]
struct Session {
    user: Arc<User>,
    begun: Instant,
    used: Instant,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) > IDLE || now.duration_since(self.begun) > LONGEST
    }
}

impl Sessions {
    /// Begins a session, and returns its id.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub(crate) fn begin(&self, user: Arc<User>, now: Instant) -> Result<String, getrandom::Error> {
        let id = secret::random()?;
        let mut sessions = self.all();
        sessions.retain(|_, session| !session.is_over(now));
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                sessions.remove(&oldest);
            }
        }
        let session = Session {
            user,
            begun: now,
            used: now,
        };
        sessions.insert(secret::digest(&id), session);
        Ok(id)
    }

    /// Returns the user of a session, if it exists and has not ended. The request counts as use of the session.
    pub(crate) fn user(&self, id: &str, now: Instant) -> Option<Arc<User>> {
        let mut sessions = self.all();
        let session = sessions.get_mut(&secret::digest(id))?;
        if session.is_over(now) {
            return None;
        }
        session.used = now;
        Some(Arc::clone(&session.user))
    }

    /// Returns true if the session exists and has not ended. This does not count as use of the session.
    pub(crate) fn is_known(&self, id: &str, now: Instant) -> bool {
        let sessions = self.all();
        let session = sessions.get(&secret::digest(id));
        session.is_some_and(|session| !session.is_over(now))
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        self.all().remove(&secret::digest(id));
    }

    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::program;

    fn user() -> Arc<User> {
        Arc::new(User::local(program()))
    }

    #[test]
    fn a_session_ends_when_it_is_idle_and_after_half_a_day() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let id = sessions.begin(user(), begun).unwrap();
        let is_open = |id: &str, now| sessions.user(id, now).is_some();
        assert!(!is_open("other", begun));
        let mut now = begun;
        while now + IDLE < begun + LONGEST {
            now += IDLE;
            assert!(is_open(&id, now));
        }
        assert!(!is_open(&id, begun + LONGEST + Duration::from_secs(1)));
        let idle = sessions.begin(user(), begun).unwrap();
        assert!(!is_open(&idle, begun + IDLE + Duration::from_secs(1)));
        let ended = sessions.begin(user(), begun).unwrap();
        sessions.end(&ended);
        assert!(!is_open(&ended, begun));
    }

    #[test]
    fn a_session_belongs_to_its_user_and_the_longest_idle_one_makes_room() {
        let (sessions, begun) = (Sessions::default(), Instant::now());
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let users = [user(), user()];
        let ids: Vec<_> = (0..MOST)
            .map(|number| sessions.begin(Arc::clone(&users[number % 2]), at(number as u64)))
            .collect::<Result<_, _>>()
            .unwrap();
        let of = |id: &String| sessions.user(id, at(2_000));
        assert!(Arc::ptr_eq(&of(&ids[0]).unwrap(), &users[0]));
        let last = sessions.begin(user(), at(2_001)).unwrap();
        assert!(of(&ids[0]).is_some() && of(&ids[1]).is_none() && of(&last).is_some());
        assert!(Arc::ptr_eq(&of(&ids[3]).unwrap(), &users[1]));
    }
}
