;;; A session of somebody who opens a job with a mistake, reads what is said, and has it fixed. -*- lexical-binding: t -*-
;; Called with the configuration, the job, and the file for what was seen.

(setq eglot-sync-connect 60 eglot-autoshutdown t make-backup-files nil auto-save-default nil create-lockfiles nil eglot-confirm-server-edits nil)
(unless (require 'yaml-mode nil t)
  (define-derived-mode yaml-mode text-mode "YAML"))
(add-to-list 'auto-mode-alist '("\\.yaml\\'" . yaml-mode))
;; eglot-ensure waits for a command, which a batch has none of: the session connects itself.
(load (pop command-line-args-left) nil t)
(remove-hook 'yaml-mode-hook #'eglot-ensure)

(defun wait-for (test)
  "Wait until TEST gives something, for a minute at most, and give that."
  (let ((end (time-add nil 60)) found)
    (while (and (not (setq found (funcall test))) (time-less-p nil end))
      (accept-process-output nil 0.1))
    (or found (error "Nothing came"))))

(defun diagnostics ()
  "What is said about the buffer, as line and text."
  (mapcar (lambda (one) (cons (line-number-at-pos (flymake-diagnostic-beg one)) (flymake-diagnostic-text one)))
          (flymake-diagnostics)))

(let* ((file (pop command-line-args-left)) (report (pop command-line-args-left)) said told fixed)
  (find-file file)
  (apply #'eglot--connect (eglot--guess-contact))
  (setq said (wait-for (lambda () (flymake-start) (diagnostics))))
  (goto-char (point-min))
  (search-forward "numNode")
  (let ((action (wait-for (lambda () (car (eglot-code-actions (match-beginning 0) (match-end 0) "quickfix"))))))
    ;; Emacs 30 wants to know who asks.
    (apply #'eglot--apply-workspace-edit
           (plist-get (if (consp (car action)) (cdr action) action) :edit)
           (and (> (car (func-arity #'eglot--apply-workspace-edit)) 1) '(session))))
  (setq fixed (wait-for (lambda () (and (string-match-p "numNodes: 4" (buffer-string)) (buffer-string)))))
  (eglot--signal-textDocument/didChange)
  (wait-for (lambda () (not (diagnostics))))
  (goto-char (point-min))
  (search-forward "numNode")
  (eglot-hover-eldoc-function (lambda (text &rest _) (setq told (substring-no-properties text))))
  (wait-for (lambda () told))
  (with-temp-file report
    (set-buffer-file-coding-system 'utf-8)
    (insert (json-encode `((said . ,(mapcar #'cdr said)) (line . ,(caar said)) (told . ,told) (fixed . ,fixed))))))
